#!/usr/bin/env bash
# Runs before a release: all that .ci/run does, then every unit test with sanitizers, clang-tidy, counted work (tests/growth), the
# long tests with real clients, shells and man, and every command on every hostile file.
#
# ONNX_TAG_HOSTILE: further folders and .tar.xz archives of hostile files.
set -euo pipefail
cd "$(dirname "$0")/.."
.ci/run
. scripts/setup.sh release
scripts/sanitized.sh all
scripts/tidy.sh
configure growth
cmake --build --preset growth
ctest --preset growth --no-tests=error -j "$(nproc)"
ctest --test-dir build-test -L release --output-on-failure -j "$(nproc)"
# What is shipped: -O3.
configure release -DBUILD_TESTING=ON
cmake --build build
ctest --preset release -LE 'clients|lint' --no-tests=error -j "$(nproc)"
ONNX_TAG_ALL_FAULT_POINTS=1 build/faults_test --gtest_filter='FaultPointTest.*'
# shellcheck disable=SC2086
tools/checks/check_verdicts.py build/onnx-tag tests/fuzz/corpus/model ${ONNX_TAG_HOSTILE:-}
