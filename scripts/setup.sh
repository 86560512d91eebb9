#!/usr/bin/env bash
# Installs what is missing to build and test onnx-tag; does nothing, at once, when all is there.
#
#   scripts/setup.sh            what a build and the hermetic tests need
#   scripts/setup.sh lint       what scripts/lint.sh needs
#   scripts/setup.sh ci         all that .ci/run uses: also the clang tools, Python, node and a browser
#   scripts/setup.sh release    and what scripts/release-check.sh uses: clang-tidy, java, shells, man and GNU parallel
#
# The other scripts source it (`. scripts/setup.sh build`) and get configure() from it.

# A package and how to see that it is there: a program, or a header below /usr/include or /usr/local/include.
onnx_tag_needs=(
  g++=g++ cmake=cmake ninja-build=ninja protobuf-compiler=protoc
  libprotobuf-dev=google/protobuf/message.h libcli11-dev=CLI/CLI.hpp nlohmann-json3-dev=nlohmann/json.hpp
  libfmt-dev=fmt/core.h libgtest-dev=gtest/gtest.h libgmock-dev=gmock/gmock.h zlib1g-dev=zlib.h
  libxxhash-dev=xxhash.h
)
# What is left out without these: the test against ONNX's own checker, peak memory in tests/bench/bench.sh.
onnx_tag_wants=(libonnx-dev=onnx/checker.h time=/usr/bin/time)
onnx_tag_lint_needs=(clang-format-14=clang-format-14 python3-venv=python3)
onnx_tag_ci_needs=(
  clang-14=clang++-14
  libclang-rt-14-dev=/usr/lib/llvm-14/lib/clang/14.0.6/include/sanitizer/asan_interface.h
  ccache=ccache nodejs=node npm=npm chromium=chromium
)
onnx_tag_release_needs=(
  clang-tidy-14=clang-tidy-14 default-jre-headless=java parallel=parallel zsh=zsh fish=fish man-db=man groff=groff
)

onnx_tag_is_there() {
  case $1 in
    /*) [ -e "$1" ] ;;
    *.h | *.hpp) [ -e "/usr/include/$1" ] || [ -e "/usr/local/include/$1" ] ;;
    python3) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

onnx_tag_setup() {
  local group=${1:-build} entry missing=() wanted=() as_root=()
  local needs=("${onnx_tag_needs[@]}")
  case $group in
    lint) needs=("${onnx_tag_lint_needs[@]}") ;;
    ci) needs+=("${onnx_tag_lint_needs[@]}" "${onnx_tag_ci_needs[@]}") ;;
    release) needs+=("${onnx_tag_lint_needs[@]}" "${onnx_tag_ci_needs[@]}" "${onnx_tag_release_needs[@]}") ;;
  esac
  for entry in "${needs[@]}"; do
    onnx_tag_is_there "${entry#*=}" || missing+=("${entry%%=*}")
  done
  [ "$group" = lint ] || for entry in "${onnx_tag_wants[@]}"; do
    onnx_tag_is_there "${entry#*=}" || wanted+=("${entry%%=*}")
  done
  [ ${#missing[@]} -gt 0 ] || [ ${#wanted[@]} -gt 0 ] || return 0

  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  if ! command -v apt-get >/dev/null || { [ ${#as_root[@]} -gt 0 ] && ! sudo -n true 2>/dev/null && [ ! -t 0 ]; }; then
    [ ${#missing[@]} -gt 0 ] || return 0
    echo "setup.sh: cannot install packages here; please install: ${missing[*]} ${wanted[*]}" >&2
    return 1
  fi
  echo "setup.sh: installing ${missing[*]} ${wanted[*]}" >&2
  "${as_root[@]}" apt-get update -qq || echo "setup.sh: package lists not updated; trying with the old ones" >&2
  local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends)
  if [ ${#missing[@]} -gt 0 ] && ! "${install[@]}" "${missing[@]}" >/dev/null; then
    echo "setup.sh: could not install; please install: ${missing[*]}" >&2
    return 1
  fi
  for entry in "${wanted[@]}"; do
    "${install[@]}" "$entry" >/dev/null || echo "setup.sh: no package $entry; going on without it" >&2
  done
}

# configure PRESET [cmake options]: in the checkout's root, with ccache where there is one. Precompiled headers need its
# "sloppiness"; paths below the checkout are relative for it, so that another checkout finds the same objects. The settings
# are in the launcher, because a later `cmake --build` in another shell needs them, too.
configure() {
  local preset=$1
  shift
  local launcher="env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
  launcher+=";CCACHE_BASEDIR=$PWD;CCACHE_NOHASHDIR=1;ccache"
  command -v ccache >/dev/null && set -- "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" "$@"
  cmake --preset "$preset" "$@" >/dev/null
}

onnx_tag_setup "$@"
