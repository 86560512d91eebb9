#!/usr/bin/env bash
# Builds with clang and the address and undefined-behaviour sanitizers (warnings are errors) and runs the hermetic tests.
# Each GoogleTest program runs as a whole: a process for each test, as ctest has it, takes much longer here.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh ci

# The build and some tests start the program thousands of times; to look for leaks each time takes longer than the rest. The
# test programs that run the code in their own process look for leaks at their end.
export ASAN_OPTIONS=detect_leaks=0
configure asan
cmake --build build-asan
logs=$PWD/build-asan/logs
mkdir -p "$logs"
cd build-asan

# run PROGRAM: prints a line, and all that it said where it failed. Two tests take minutes here and show nothing that
# sanitizers see: OnlyIoWrites searches the sources with regular expressions, KillTest kills the program many times.
run() {
  local log=$logs/$1.log leaks=1
  case $1 in commands_test | faults_test | io_test) leaks=0 ;; esac
  if ASAN_OPTIONS=detect_leaks=$leaks ./"$1" --gtest_brief=1 --gtest_filter='-OnlyIoWrites.*:KillTest.*' >"$log" 2>&1; then
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
  printf '%s\n' properties_test commands_test mapping_test wire_test
  find . -maxdepth 1 -name '*_test' ! -name onnx_checker_test -printf '%f\n' | sort
} | awk '!seen[$0]++' | xargs -P "$(nproc)" -I{} bash -c 'run {}'
ctest -LE clients -E '\..*\.' --output-on-failure --no-tests=error -j "$(nproc)"
