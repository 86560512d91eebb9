#!/usr/bin/env bash
# What .ci/run leaves out: the sanitized build with its tests, counted work, and all real clients.
# Not yet passed as a whole with the code of 0.2: see CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh ci
tests/clients/make_environment.sh build/clients
configure asan
cmake --build build-asan
ctest --test-dir build-asan -LE clients --output-on-failure --no-tests=error -j "$(nproc)"
configure growth
cmake --build --preset growth
ctest --preset growth --no-tests=error -j "$(nproc)"
ctest --test-dir build -L clients --output-on-failure --no-tests=error -j "$(nproc)"
