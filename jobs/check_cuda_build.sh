#!/usr/bin/env bash
# Compiles and links the whole program, tests included, with a CUDA wheel of LibTorch, then runs the tests. It needs no GPU
# and no CUDA toolkit. Everything lies in build/cuda: the wheel in build/cuda/venv (about 6 GB), the build beside it.
#
#   bash jobs/check_cuda_build.sh [TARGET...]     with targets: builds these alone, and runs no test
#
# LOCKSTEP_BUILD_JOBS  how many sources are compiled at once (all cores)
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

folder=$LOCKSTEP_ROOT/build/cuda
python=$folder/venv/bin/python
stamp=$folder/venv/.lockstep-setup
needed_gb=14

free_gb() { df --output=avail -B1G "$folder" | tail -n 1 | tr -d ' '; }

install_wheel() {
  [[ -f $stamp ]] && cmp -s "$stamp" jobs/requirements.cuda.txt && return
  local free
  free=$(free_gb)
  ((free >= needed_gb)) || die "build/cuda needs $needed_gb GB; this disk has $free GB free"
  say "Installing the CUDA wheel of LibTorch into build/cuda/venv: some GB to fetch"
  run_step cuda_venv python3 -m venv --clear "$folder/venv"
  run_step cuda_pip "$python" -m pip install --disable-pip-version-check --no-cache-dir -r jobs/requirements.cuda.txt
  cp jobs/requirements.cuda.txt "$stamp"
}

torch_folder() {
  "$python" -c 'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("torch").origin).parent)'
}

require_cuda() {
  grep -q 'LibTorch .*CUDA on' "$LOCKSTEP_LOGS/cuda_configure.log" ||
    die "build/cuda/venv has no CUDA LibTorch; see $LOCKSTEP_LOGS/cuda_configure.log"
}

bash jobs/setup.sh
mkdir -p "$folder"
install_wheel
torch=$(torch_folder)
run_step cuda_configure cmake --preset release -B "$folder" -DLOCKSTEP_NCCL=ON -DLibTorch_ROOT="$torch"
require_cuda
say "Building build/cuda: ${*:-everything}"
run_step cuda_build cmake --build "$folder" --parallel "${LOCKSTEP_BUILD_JOBS:-$(nproc)}" --target "${@:-all}"
(($# == 0)) || exit 0
allow_any_launch
show_step cuda_tests ctest --test-dir "$folder" --output-on-failure --no-tests=error
say "The build with a CUDA LibTorch compiles, links and passes its tests on the CPU"
