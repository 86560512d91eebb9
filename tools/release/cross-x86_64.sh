#!/usr/bin/env bash
# Builds onnx-tag for x86-64 on a machine of another kind and runs every hermetic test under qemu-user; run it before a
# release. On two cores 913 of 939 tests take 12 minutes. The other 26 take much longer; to leave them out, add
#   -E 'RewriteLaws|RandomShort|KillTest|NoInputIsEver|HoldForEvery|Properties|SpansOfAny|OfTwoWriters|DeepChain|100000|ci_'
#
#   tools/release/cross-x86_64.sh [--program] [ctest arguments]
#
#   --program     build build-x86_64/onnx-tag only
#
# For Debian, as root: it installs a cross compiler and amd64 libraries, and tells the kernel to run x86-64 programs with
# qemu. Best done in a chroot or container, since amd64 packages may replace some of the machine's own.
set -euo pipefail
cd "$(dirname "$0")/../.."

if [ "$(uname -m)" = x86_64 ]; then
  echo "cross-x86_64.sh: this is x86-64: use scripts/test.sh" >&2
  exit 2
fi
program=
if [ "${1:-}" = --program ]; then
  program=1
  shift
fi

native=(g++-x86-64-linux-gnu cmake ninja-build protobuf-compiler libcli11-dev nlohmann-json3-dev libxxhash-dev
  qemu-user-static python3)
foreign=(libgtest-dev:amd64 libgmock-dev:amd64 libprotobuf-dev:amd64 zlib1g-dev:amd64 libfmt-dev:amd64)
if ! command -v x86_64-linux-gnu-g++ >/dev/null || ! [ -e /usr/lib/x86_64-linux-gnu/libprotobuf.a ]; then
  dpkg --add-architecture amd64
  apt-get update -qq
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y -qq --no-install-recommends "${native[@]}" >/dev/null
  apt-get install -y -qq --no-install-recommends "${foreign[@]}" >/dev/null
fi

options=(-DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/x86_64-linux-gnu.cmake" -DCMAKE_BUILD_TYPE=Release -DONNX_TAG_STATIC=ON
  -DONNX_TAG_BENCH=OFF)
command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
[ -z "$program" ] || options+=(-DBUILD_TESTING=OFF)
cmake -B build-x86_64 -G Ninja "${options[@]}" >/dev/null
if [ -n "$program" ]; then
  cmake --build build-x86_64 --target onnx-tag
  exit 0
fi
cmake --build build-x86_64

# Tests start the program, and the program is for another processor.
formats=/proc/sys/fs/binfmt_misc
[ -e $formats/register ] || mount -t binfmt_misc binfmt_misc $formats
if ! grep -qs x86_64 $formats/qemu-x86_64; then
  magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00'
  mask='\xff\xff\xff\xff\xff\xfe\xfe\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  printf '%s' ":qemu-x86_64:M::$magic:$mask:$(command -v qemu-x86_64-static):F" >$formats/register
fi
ctest --test-dir build-x86_64 -LE clients --output-on-failure --no-tests=error -j "$(nproc)" "$@"
