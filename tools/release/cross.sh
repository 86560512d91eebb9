#!/usr/bin/env bash
# Builds onnx-tag for other systems on this machine, with zig (clang) from PyPI and libraries from Debian.
#
#   tools/release/cross.sh TARGET...
#   tools/release/cross.sh aarch64-windows x86_64-windows aarch64-macos x86_64-macos x86_64-linux aarch64-linux
#
# The programs are build/cross/TARGET/onnx-tag, on Windows onnx-tag.exe. Options for CMake: ONNX_TAG_CROSS_OPTIONS, for
# the build ONNX_TAG_CROSS_TARGETS (default: onnx-tag). A program is one file: protobuf's lite runtime and the C++
# library are inside, on Linux and Windows the C library or its rest, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh build

work=$PWD/build/cross
zig_version=0.17.0

mkdir -p "$work"
if [ -z "${ONNX_TAG_ZIG:-}" ]; then
  if [ ! -x "$work/tools/bin/python" ]; then python3 -m venv "$work/tools"; fi
  "$work/tools/bin/python" -m pip install --quiet "ziglang==$zig_version"
  ONNX_TAG_ZIG=$("$work/tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
  export ONNX_TAG_ZIG
fi
export ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$work/zig} ZIG_LOCAL_CACHE_DIR=${ZIG_LOCAL_CACHE_DIR:-$work/zig}

libraries=$work/libraries
tools/release/libraries.sh "$libraries"

# The tables of the catalogue and of the recipe book are the same on every system.
configure release -DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF -B "$work/host"
cmake --build "$work/host" --target tables

for target in "$@"; do
  [ -e "cmake/$target.cmake" ] || { echo "cross.sh: no such target: $target" >&2; exit 2; }
  # shellcheck disable=SC2086  # several options
  cmake -S . -B "$work/$target" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/$target.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$PWD=." -DCMAKE_EXE_LINKER_FLAGS_RELEASE=-s -DBUILD_TESTING=OFF \
    -DONNX_TAG_BENCH=OFF -DONNX_TAG_LIBRARIES="$libraries" -DONNX_TAG_TABLES="$work/host/generated" \
    ${ONNX_TAG_CROSS_OPTIONS:-} >/dev/null
  # shellcheck disable=SC2086  # several targets
  cmake --build "$work/$target" --target ${ONNX_TAG_CROSS_TARGETS:-onnx-tag}
done
