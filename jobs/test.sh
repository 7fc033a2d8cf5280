#!/usr/bin/env bash
# Builds what is not built and runs every test.
#
#   bash jobs/test.sh [--preset release|debug|asan] [CTEST_ARGUMENT...]     e.g. -L unit, -R learner
#
# The last line tells how many tests passed and failed; the exit code is 0 when all of them passed.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

preset=release
if [[ ${1:-} == --preset ]]; then
  [[ $# -ge 2 ]] || die "--preset wants a name: release, debug or asan"
  preset=$2
  shift 2
fi

# Reads ctest's own record, so that what was counted is what ran.
count_tests() {
  python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree

suite = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
total, failed, skipped, disabled = (int(suite.get(key, 0)) for key in ("tests", "failures", "skipped", "disabled"))
idle = skipped + disabled
print(f"{total - failed - idle} passed, {failed} failed" + (f", {idle} skipped" if idle else ""))
PYTHON
}

bash jobs/setup.sh
say "Building $preset and its tests; the first time takes some minutes"
build "$preset"

allow_any_launch
report=$LOCKSTEP_ROOT/$LOCKSTEP_LOGS/tests_$preset.xml
rm -f -- "$report"
code=0
shown "tests_$preset" ctest --preset "$preset" --parallel "${CTEST_PARALLEL_LEVEL:-$(nproc)}" \
  --output-junit "$report" "$@" || code=$?
((code == 0)) || say "Tests failed; the whole log: $LOCKSTEP_ROOT/$LOCKSTEP_LOGS/tests_$preset.log"
[[ ! -f $report ]] || count_tests "$report"
exit "$code"
