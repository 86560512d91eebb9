#!/usr/bin/env bash
# Sets up, builds and runs every test that needs no network. Arguments go to ctest: scripts/test.sh -R wire
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh build

configure release -DBUILD_TESTING=ON -DONNX_TAG_BENCH=ON
cmake --build build
ctest --test-dir build -LE clients --output-on-failure --no-tests=error -j "$(nproc)" "$@"
