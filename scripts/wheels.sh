#!/usr/bin/env bash
# Makes the source archive and the wheels of onnx-tag, and checks each as a user would use it.
#
#   scripts/wheels.sh [PLATFORM=PROGRAM...]
#
#   scripts/wheels.sh                                        the machine it runs on, with the program in build/
#   scripts/wheels.sh x86_64=build-x86_64/onnx-tag           and the wheel of another platform
#
# A PROGRAM must be static (-DONNX_TAG_STATIC=ON). Needs python3 with venv, and PyPI for the build tools. The results are
# in build/wheels/dist. A wheel of another platform is checked with qemu-user, if that is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh build

work=$PWD/build/wheels
here=$(uname -m)
python=$work/tools/bin/python
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' python/onnx_tag/_version.py)
# The time of the last commit: the same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
step() { printf '\n== %s\n' "$1"; }
# Exits unless the program is static and of this platform.
check_program() {
  file -L "$2" 2>/dev/null | grep -q "statically linked" || command -v file >/dev/null ||
    echo "wheels.sh: 'file' is not installed; $2 is not checked" >&2
  if command -v file >/dev/null && ! file -L "$2" | grep -q "statically linked"; then
    echo "wheels.sh: $2 is not static; configure with -DONNX_TAG_STATIC=ON" >&2
    exit 1
  fi
}

step "program"
configure release -DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF -B build/wheels/program
cmake --build build/wheels/program --target onnx-tag
programs=("$here=build/wheels/program/onnx-tag" "$@")

step "tools"
[ -x "$python" ] || python3 -m venv "$work/tools"
"$python" -m pip install --quiet 'scikit-build-core>=0.10' build twine wheel
export PATH=$work/tools/bin:$PATH
rm -rf "$work/dist" "$work/made"
mkdir -p "$work/dist" "$work/made"

step "source archive"
"$python" -m build --quiet --no-isolation --sdist --outdir "$work/dist" .

for entry in "${programs[@]}"; do
  platform=${entry%%=*} program=$(realpath "${entry#*=}")
  step "wheel for $platform"
  check_program "$platform" "$program"
  cp "$program" "$work/made/onnx-tag"
  strip "$work/made/onnx-tag" 2>/dev/null || "$platform-linux-gnu-strip" "$work/made/onnx-tag" 2>/dev/null || true
  "$python" -m build --quiet --no-isolation --wheel --outdir "$work/made" \
    -Ccmake.define.ONNX_TAG_PREBUILT="$work/made/onnx-tag" .
  # The program is static: every Linux can run it, with any C library.
  "$python" -m wheel tags --remove --platform-tag \
    "manylinux_2_17_$platform.manylinux2014_$platform.musllinux_1_1_$platform" "$work/made"/*.whl
  mv "$work/made"/*.whl "$work/dist/"
done

step "twine check"
"$python" -m twine check --strict "$work/dist"/*

for entry in "${programs[@]}"; do
  platform=${entry%%=*}
  wheel=$(echo "$work/dist"/*"musllinux_1_1_$platform.whl")
  step "try $(basename "$wheel")"
  model=$PWD/tests/models/bert_tiny/model.onnx
  rm -rf "$work/try"
  if [ "$platform" = "$here" ]; then
    python3 -m venv "$work/try"
    "$work/try/bin/pip" install --quiet --no-index "$wheel"
    (
      cd "$work/try"
      PATH=$work/try/bin:/usr/bin:/bin
      onnx-tag --version | grep -Fx "onnx-tag $version"
      onnx-tag "$model" -o tagged.onnx
      python -m onnx_tag query tagged.onnx 'layer=0 and component=query and op=MatMul'
      python -c '
import sys, onnx_tag
tags = onnx_tag.tag(sys.argv[1], "again.onnx")
assert tags.nodes == onnx_tag.Tags.load("again.onnx").nodes == onnx_tag.Tags.load("tagged.onnx").nodes
print(tags, [n.module for n in tags.query("layer=1 and component=value and op=MatMul")])' "$model"
      pip uninstall --quiet --yes onnx-tag
    )
    [ ! -e "$work/try/bin/onnx-tag" ] || { echo "wheels.sh: the command is left after uninstalling" >&2; exit 1; }
  else
    python3 -m pip install --quiet --no-index --no-deps --target "$work/try" --only-binary :all: \
      --platform "manylinux2014_$platform" "$wheel"
    emulator=$(command -v "qemu-$platform-static" || command -v "qemu-$platform" || true)
    if [ -z "$emulator" ]; then
      echo "wheels.sh: no qemu for $platform; the program was not run" >&2
      continue
    fi
    "$emulator" "$work/try/bin/onnx-tag" --version | grep -Fx "onnx-tag $version"
    "$emulator" "$work/try/bin/onnx-tag" "$model" -o "$work/try/tagged.onnx"
    # The Python package, with the program run by the emulator.
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$emulator" "$work/try/bin/onnx-tag" >"$work/try/run"
    chmod +x "$work/try/run"
    ONNX_TAG_PROGRAM=$work/try/run PYTHONPATH=$work/try python3 -c '
import sys, onnx_tag
print(onnx_tag.Tags.load(sys.argv[1]))' "$work/try/tagged.onnx"
  fi
done

step "made"
ls -l "$work/dist"
