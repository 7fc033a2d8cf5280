#!/usr/bin/env bash
# Checks the layout of our sources with clang-format, and their text with clang-tidy by the rules of .clang-tidy.
#
#   bash jobs/lint.sh [REGULAR_EXPRESSION]     only the files of src/ whose path matches, e.g. src/comm/
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

bash jobs/setup.sh --lint
show_step format bash jobs/format.sh --check

# A build folder of its own: clang-tidy reads neither GCC's precompiled header nor commands that start with ccache.
run_step configure_lint cmake --preset release -B build/lint -DLOCKSTEP_PRECOMPILED_HEADER=OFF -DLOCKSTEP_UNITY=OFF -DCCACHE=OFF \
  -DLOCKSTEP_TESTS=OFF -DLOCKSTEP_BENCHMARKS=OFF
tidy=$(command -v run-clang-tidy-19 || command -v run-clang-tidy) || die "no run-clang-tidy; see jobs/packages.debian.txt"
say "clang-tidy over ${1:-src/}; a few seconds a file"
show_step clang_tidy "$tidy" -quiet -j "$(nproc)" -p build/lint "$LOCKSTEP_ROOT/.*${1:-src/}.*"
say "Lint: clean"
