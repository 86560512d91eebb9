#!/usr/bin/env bash
# Runs before a release: all that .ci/run does, then the tests with sanitizers (clang, warnings are errors), counted work
# (tests/growth) and the long tests with real clients.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/run
. scripts/setup.sh ci
configure asan
cmake --build build-asan
ctest --test-dir build-asan -LE clients --output-on-failure --no-tests=error -j "$(nproc)"
configure growth
cmake --build --preset growth
ctest --preset growth --no-tests=error -j "$(nproc)"
ctest --test-dir build -L release --output-on-failure -j "$(nproc)"
