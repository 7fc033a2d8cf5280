#!/usr/bin/env bash
# ending.sh PROGRAM [LAUNCHER NUMPROC_FLAG]: runs tests/core/ending.cpp in every way a process can end and looks at its exit
# code, its last words and the time it took. With a launcher, on two ranks or more; without, alone.
set -u
program=$1
shift
launcher=("$@")
failures=0
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# expect CODE TEXT COMMAND...: the command ends with CODE within a minute and says TEXT ("" for anything).
expect() {
  local code=$1 text=$2
  shift 2
  timeout -k 5 60 "$@" >"$output" 2>&1
  local got=$?
  if [[ $got -ne $code || (-n $text && $(grep -cF -- "$text" "$output") -eq 0) ]]; then
    echo "FAILED: ${*: -3}: exit code $got, expected $code and \"$text\"; it said:"
    cat "$output"
    failures=$((failures + 1))
  fi
}

# expect_count COUNT TEXT: the last command said TEXT that many times.
expect_count() {
  local got
  got=$(grep -cF -- "$2" "$output")
  if [[ $got -ne $1 ]]; then
    echo "FAILED: \"$2\" was said $got times, expected $1; all that was said:"
    cat "$output"
    failures=$((failures + 1))
  fi
}

alone() {
  expect 0 "" "$program" done
  expect 2 'cause: the deck says "x", it must be y' "$program" input
  expect_count 1 "where: ending.cpp:"
  expect_count 0 "/ending.cpp"
  expect 1 "from the other side \\x1b[31m" "$program" comm
  expect 1 "out of memory" "$program" memory
  expect 1 "cause: tensor sizes differ" "$program" standard
  expect_count 0 "/build"
  expect 1 "no std::exception" "$program" unknown
  expect 2 "no such file: deck.toml" "$program" together
  expect 2 "no such command" "$program" before
  expect 3 "" "$program" signal
  expect 0 "MKL_CBWR=" env -u MKL_CBWR "$program" arithmetic
  expect 0 "MKL_CBWR=COMPATIBLE, " env MKL_CBWR=COMPATIBLE "$program" arithmetic
  # Threads come from the options, whatever the environment says.
  expect 0 ", 1 thread" env OMP_NUM_THREADS=7 "$program" arithmetic
  expect 0 ", 1 thread" env OMP_NUM_THREADS=many "$program" arithmetic
  expect 0 ", 2 threads" env OMP_NUM_THREADS=1 "$program" threads
  expect 1 "announced 4 ranks but MPI sees 1" env PMI_RANK=0 PMI_SIZE=4 "$program" done
}

ranks() {
  local two=("${launcher[@]}" 2) four=("${launcher[@]}" 4)
  expect 0 "" "${two[@]}" "$program" done
  # One rank fails, the others wait for it or work: its words are the cause, and all end.
  expect 2 "rank 1 of 2 on host" "${two[@]}" "$program" input 1
  expect_count 1 'cause: the deck says "x", it must be y'
  expect_count 1 "lockstep: error"
  expect 1 "cause: no answer" "${four[@]}" "$program" comm 3
  expect 1 "rank 0 of 4 on host" "${four[@]}" "$program" comm 0 busy
  expect 1 "rank 1 of 2 on host" "${two[@]}" "$program" memory 1 busy
  expect 137 "" "${two[@]}" "$program" kill 1 busy
  # All fail together: said once, in order, and MPI_Abort is not needed.
  expect 2 "rank 0 of 4 on host" "${four[@]}" "$program" together
  expect_count 1 "no such file: deck.toml"
  expect_count 0 "MPI_ABORT"
  # An error that is marked so but is not: the others are not waited for without end.
  expect 2 "only here" "${two[@]}" "$program" half 0
  expect 2 "" "${two[@]}" "$program" before
  expect_count 1 "no such command"
  # A rank that leaves without finish() may leave others in mid-work.
  expect 1 "without Runtime::finish()" "${two[@]}" "$program" unfinished
  expect 3 "" "${two[@]}" "$program" signal
}

if [[ ${#launcher[@]} -eq 0 ]]; then alone; else ranks; fi
[[ $failures -eq 0 ]] && echo "all endings are as they should be"
exit "$((failures > 0))"
