#!/usr/bin/env bash
# Sets up, builds the program, what measures it and every unit test at -O1 (preset `test`), and runs all that needs no network.
#
#   scripts/test.sh [ctest arguments]     scripts/test.sh -R wire
#   scripts/test.sh --build               builds only
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh build

configure test -DBUILD_TESTING=ON -DONNX_TAG_BENCH=ON
cmake --build build-test
[ "${1:-}" = --build ] ||
  ctest --test-dir build-test -LE 'clients|lint' --output-on-failure --no-tests=error -j "$(nproc)" "$@"
