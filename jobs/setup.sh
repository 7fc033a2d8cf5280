#!/usr/bin/env bash
# Installs what Lockstep needs and this machine lacks: Debian packages, and Python packages in .venv (LibTorch among
# them). A second run finds everything in place, changes nothing and needs no network.
#
#   bash jobs/setup.sh [--lint]     --lint: the packages of jobs/lint.sh too
#
# Torch_DIR            a LibTorch to use (the folder of TorchConfig.cmake); none is installed then
# LOCKSTEP_TORCH_INDEX the package index to take torch from, instead of pip's own
# LOCKSTEP_NCCL=OFF    no NCCL and CUDA runtime (300 MB), which the NCCL backend is built with
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

packages_list=jobs/packages.debian.txt
venv=$LOCKSTEP_ROOT/.venv
stamp=$venv/.lockstep-setup

installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }
available() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]; }
python_makes_environments() { python3 -c 'import ensurepip, venv' 2>/dev/null; }

# The lines of the package list that hold for this run, comments and blanks removed.
wanted_packages() {
  if [[ ${1:-} == --lint ]]; then
    sed -e 's/#.*//' -e '/^\[/d' -e '/^ *$/d' "$packages_list"
  else
    sed -e '/^\[/,$d' -e 's/#.*//' -e '/^ *$/d' "$packages_list"
  fi
}

# Is one of the alternatives of a line here? A python3 that is not Debian's makes environments without python3-venv.
satisfied() {
  local name
  for name in ${1//|/ }; do
    installed "$name" && return 0
    [[ $name == python3-venv ]] && python_makes_environments && return 0
  done
  return 1
}

# The alternative of a line that this system's package lists offer; the first where none is known.
choose() {
  local name
  [[ $1 == *'|'* ]] || { echo "$1"; return; }
  for name in ${1//|/ }; do
    available "$name" && { echo "$name"; return; }
  done
  echo "${1%% *}"
}

missing_packages() {
  local line
  while read -r line; do
    satisfied "$line" || choose "$line"
  done < <(wanted_packages "$@")
}

# Prints the words that run a command as root: none, or sudo. Fails where there is no way.
as_root() {
  (($(id -u) == 0)) && return
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    echo sudo
    return
  fi
  return 1
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "Not a Debian system: install what stands for the packages of $packages_list"
    return
  fi
  local missing prefix package
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ! prefix=$(as_root); then
    printf '%s\n' "error: ${#missing[@]} Debian packages are missing, and installing them needs root." \
      "Ask an administrator to run:" "" "    apt-get install ${missing[*]}" "" "then run this again." >&2
    exit 1
  fi
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  # Package lists that could not all be refreshed may still do: the installation decides.
  ${prefix} apt-get update </dev/null >"$LOCKSTEP_LOGS/apt_update.log" 2>&1 || say "apt-get update failed; going on"
  mapfile -t missing < <(missing_packages "$@")
  for package in "${missing[@]}"; do
    available "$package" || die "this system's package sources have no $package; Debian 12 and 13 do ($packages_list)"
  done
  run_step apt_install ${prefix} env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
}

# What the Python side was made from; when it changes, pip looks again.
fingerprint() {
  {
    python3 -c 'import sys; print(sys.version_info[:2])'
    echo "given LibTorch: ${Torch_DIR:+yes}"
    echo "NCCL: ${LOCKSTEP_NCCL:-AUTO}"
    cat jobs/requirements.torch.txt jobs/requirements.txt jobs/requirements.nccl.txt analysis/pyproject.toml
  } | sha256sum
}

make_venv() {
  "$LOCKSTEP_PYTHON" -m pip --version >/dev/null 2>&1 && return
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "python3 is $(python3 --version 2>&1); Lockstep needs 3.11 or newer"
  say "Making .venv"
  run_step venv python3 -m venv --clear "$venv"
}

pip_install() { run_step "$1" "$LOCKSTEP_PYTHON" -m pip install --disable-pip-version-check "${@:2}"; }

install_python_packages() {
  local now
  now=$(fingerprint)
  [[ -x $LOCKSTEP_PYTHON && -f $stamp && $(<"$stamp") == "$now" ]] && return
  make_venv
  if [[ -n ${Torch_DIR:-} ]]; then
    say "Using the LibTorch of Torch_DIR=$Torch_DIR"
  else
    say "Installing LibTorch: $(grep -v '^#' jobs/requirements.torch.txt)"
    pip_install pip_torch ${LOCKSTEP_TORCH_INDEX:+--index-url "$LOCKSTEP_TORCH_INDEX"} -r jobs/requirements.torch.txt
  fi
  if [[ ${LOCKSTEP_NCCL:-} != OFF ]]; then
    say "Installing NCCL and the CUDA runtime (300 MB; none with LOCKSTEP_NCCL=OFF)"
    pip_install pip_nccl -r jobs/requirements.nccl.txt
  fi
  say "Installing the Python packages of jobs/requirements.txt and lockstep_analysis"
  pip_install pip_requirements -r jobs/requirements.txt
  pip_install pip_analysis --no-build-isolation --no-deps -e analysis
  echo "$now" >"$stamp"
}

[[ $# -eq 0 || ($# -eq 1 && $1 == --lint) ]] || die "usage: bash jobs/setup.sh [--lint]"
if [[ -n ${Torch_DIR:-} && ! -f ${Torch_DIR}/TorchConfig.cmake ]]; then
  die "Torch_DIR is '$Torch_DIR', which has no TorchConfig.cmake; it is <torch>/share/cmake/Torch"
fi

# Two scripts started at once must not fill one .venv.
exec {lock}>build/setup.lock
flock "$lock"
install_packages "$@"
install_python_packages
say "Set up: Debian packages, .venv"
