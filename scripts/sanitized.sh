#!/usr/bin/env bash
# Builds with clang and the address and undefined-behaviour sanitizers (warnings are errors): the program, and the unit tests
# of the layers that read files and clues. Runs these tests, whole programs, the fuzz corpora, and a shape of tests/growth, whose
# work this build counts, too.
#
#   scripts/sanitized.sh [--build]     only builds
#   scripts/sanitized.sh all           every unit test
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh ci

# The build and some tests start the program thousands of times; to look for leaks each time takes longer than the rest. The
# test programs that run the code in their own process look for leaks at their end.
export ASAN_OPTIONS=detect_leaks=0
tests=()
[ "${1:-}" != all ] || tests=(-DONNX_TAG_TESTS=)
configure asan "${tests[@]}"
cmake --build build-asan
[ "${1:-}" != --build ] || exit 0
logs=$PWD/build-asan/logs
mkdir -p "$logs"
cd build-asan

# run PROGRAM: prints a line, and all that it said where it failed. A process for each test, as ctest has it, takes much longer
# here. KillTest kills the program many times, which shows nothing that sanitizers see; of growth one shape is enough.
run() {
  local log=$logs/$1.log leaks=1 tests='-KillTest.*' sizes=
  case $1 in
    commands_test | faults_test | io_test) leaks=0 ;;
    growth_test) leaks=0 tests='*WorkGrowsWithTheFile/chain_mixed' sizes=300,600,1200 ;;
  esac
  if ASAN_OPTIONS=detect_leaks=$leaks ONNX_TAG_GROWTH_SIZES=$sizes ./"$1" --gtest_brief=1 --gtest_filter="$tests" >"$log" 2>&1 &&
    grep -q '[1-9][0-9]* tests\? from' "$log"; then
    echo "$1: $(tail -1 "$log")"
  else
    cat "$log"
    return 1
  fi
}
export -f run
export logs
# Those that take minutes first, so that no core waits for one at the end. onnx_checker_test is no GoogleTest; ctest runs
# it, the fuzz corpora and the scripts.
{
  printf '%s\n' properties_test commands_test mapping_test growth_test wire_test
  find . -maxdepth 1 -name '*_test' ! -name onnx_checker_test -printf '%f\n' | sort
} | awk '!seen[$0]++' | while read -r name; do [ ! -x "$name" ] || echo "$name"; done | xargs -P "$(nproc)" -I{} bash -c 'run {}'
ctest -LE 'clients|lint' -E '\..*\.' --output-on-failure --no-tests=error -j "$(nproc)"
