#!/usr/bin/env bash
# Lays out our C++ sources by .clang-format, with the clang-format of .venv: another version breaks lines elsewhere.
#
#   bash jobs/format.sh [--check]     --check: changes nothing, fails where a file would change
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

clang_format=$LOCKSTEP_ROOT/.venv/bin/clang-format
[[ -x $clang_format ]] || die "no clang-format in .venv; run: bash jobs/setup.sh"
mode=(-i)
if [[ ${1:-} == --check ]]; then
  mode=(--dry-run --Werror)
fi

mapfile -d '' -t sources < <(find include src tests benchmarks cmake \( -name '*.hpp' -o -name '*.cpp' \) -print0)
((${#sources[@]})) || die "found no sources to format under $LOCKSTEP_ROOT"
"$clang_format" "${mode[@]}" "${sources[@]}"
say "Format: ${#sources[@]} files by $("$clang_format" --version)"
