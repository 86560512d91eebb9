#!/usr/bin/env bash
# Runs before a release: all that .ci/run does, then counted work (tests/growth) and the long tests with real clients.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/run
. scripts/setup.sh ci
configure growth
cmake --build --preset growth
ctest --preset growth --no-tests=error -j "$(nproc)"
ctest --test-dir build -L release --output-on-failure -j "$(nproc)"
