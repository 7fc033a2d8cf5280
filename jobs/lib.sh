# Shared by the scripts of this folder, which source it: the project's root, steps with logs, builds, MPI's variables.

LOCKSTEP_ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
LOCKSTEP_PYTHON=$LOCKSTEP_ROOT/.venv/bin/python
LOCKSTEP_LOGS=build/logs
cd -- "$LOCKSTEP_ROOT"
mkdir -p "$LOCKSTEP_LOGS"

say() { printf '%s\n' "== $*"; }

die() {
  printf '%s\n' "error: $*" >&2
  exit 1
}

# run_step NAME COMMAND...: the command's output goes to build/logs/NAME.log. When it fails, the log's last lines and
# path are shown and the script ends with the command's exit code. COMMAND may be a function only if it chains with &&.
run_step() {
  local name=$1 log=$LOCKSTEP_LOGS/$1.log code=0
  shift
  "$@" </dev/null >"$log" 2>&1 || code=$?
  ((code == 0)) && return
  printf '%s\n' "--- the last lines of step '$name':" >&2
  tail -n 30 -- "$log" >&2
  end_with_log "$name" "$code"
}

# show_step NAME COMMAND...: as run_step, with the output on the terminal too.
show_step() {
  local name=$1 code=0
  shift
  shown "$name" "$@" || code=$?
  ((code == 0)) || end_with_log "$name" "$code"
}

# shown NAME COMMAND...: the output goes to the terminal and the step's log; returns the command's exit code.
shown() {
  local log=$LOCKSTEP_LOGS/$1.log
  shift
  "$@" </dev/null 2>&1 | tee -- "$log" || return "${PIPESTATUS[0]}"
}

end_with_log() {
  printf '%s\n' "error: step '$1' failed with exit code $2; its whole log: $LOCKSTEP_ROOT/$LOCKSTEP_LOGS/$1.log" >&2
  exit "$2"
}

# build PRESET [CMAKE_BUILD_ARGUMENT...]: configures and builds into build/PRESET.
build() {
  local preset=$1 start=$SECONDS
  shift
  local strict=()
  # Given only when asked for: the build folder keeps it, and is not built anew by a later call without it.
  [[ -z ${LOCKSTEP_WARNINGS_AS_ERRORS:-} || $preset == asan ]] || strict=(-DCMAKE_COMPILE_WARNING_AS_ERROR=ON)
  run_step "configure_$preset" cmake --preset "$preset" "${strict[@]}"
  run_step "build_$preset" cmake --build --preset "$preset" "$@"
  say "Built build/$preset in $((SECONDS - start)) s (log: $LOCKSTEP_LOGS/build_$preset.log)"
}

# Lets mpirun start as root (containers) and more ranks than cores: Open MPI refuses both by itself. The second name
# of oversubscription is Open MPI 5's.
allow_any_launch() {
  export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  if (($(id -u) == 0)); then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
}
