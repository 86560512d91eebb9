#!/usr/bin/env bash
# Makes the source archive and the wheels of onnx-tag for six platforms, and checks them.
#
#   tools/release/wheels.sh [PLATFORM...]
#
#   tools/release/wheels.sh                                 all six
#   tools/release/wheels.sh windows_arm64 macos_x86_64      some: linux_ or windows_ or macos_, then x86_64, aarch64 or arm64
#
# The wheel of this machine's Linux has a static program made by g++; tools/release/cross.sh makes the others with zig. The
# same commit gives the same bytes. Needs python3 with venv, and PyPI for the tools. The results are in
# build/wheels/dist.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh build

work=$PWD/build/wheels
here=linux_$(uname -m)
python=$work/tools/bin/python
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' python/onnx_tag/_version.py)
# The time of the last commit: the same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
platforms=("$@")
[ $# -gt 0 ] || platforms=(linux_x86_64 linux_aarch64 macos_x86_64 macos_arm64 windows_x86_64 windows_arm64)
step() { printf '\n== %s (%d:%02d)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }
# The tag that pip compares with the machine.
tag_of() {
  case $1 in
    # Static: every Linux can run it, with any C library.
    linux_*) echo "manylinux2014_${1#*_}.manylinux_2_17_${1#*_}.musllinux_1_1_${1#*_}" ;;
    macos_*) echo "macosx_12_0_${1#*_}" ;;
    windows_x86_64) echo win_amd64 ;;
    windows_arm64) echo win_arm64 ;;
    *) echo "wheels.sh: unknown platform: $1" >&2; exit 2 ;;
  esac
}
# What `file` must say of the program: static on Linux, the right system and processor elsewhere.
description_of() {
  case $1 in
    linux_*) echo "ELF 64-bit.*${2}.*static" ;;
    macos_x86_64) echo "Mach-O 64-bit x86_64 executable" ;;
    macos_arm64) echo "Mach-O 64-bit arm64 executable" ;;
    windows_x86_64) echo "PE32+ executable.*x86-64" ;;
    windows_arm64) echo "PE32+ executable.*Aarch64" ;;
  esac
}
for platform in "${platforms[@]}"; do tag_of "$platform" >/dev/null; done

step "program for $here, man pages and completions"
configure release -DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF -B build/wheels/program
cmake --build build/wheels/program --target onnx-tag documents

cross=()
for platform in "${platforms[@]}"; do
  [ "$platform" = "$here" ] || cross+=("$(sed 's/arm64/aarch64/; s/\(.*\)_\(aarch64\|x86_64\)$/\2-\1/' <<<"$platform")")
done
if [ ${#cross[@]} -gt 0 ]; then
  step "programs for ${cross[*]}"
  tools/release/cross.sh "${cross[@]}"
fi

step "tools"
[ -x "$python" ] || python3 -m venv "$work/tools"
"$python" -m pip install --quiet 'scikit-build-core>=0.10' build twine wheel
export PATH=$work/tools/bin:$PATH
rm -rf "$work/dist" "$work/made"
mkdir -p "$work/dist" "$work/made"

step "source archive"
"$python" -m build --quiet --no-isolation --sdist --outdir "$work/dist" .

for platform in "${platforms[@]}"; do
  step "wheel for $platform"
  processor=${platform#*_}
  program=$work/made/onnx-tag
  if [ "$platform" = "$here" ]; then
    cp build/wheels/program/onnx-tag "$program"
    strip "$program"
  else
    target=${processor/arm64/aarch64}-${platform%%_*}
    case $platform in windows_*) program+=.exe ;; esac
    cp "build/cross/$target/$(basename "$program")" "$program"
  fi
  if command -v file >/dev/null && ! file "$program" | grep -q "$(description_of "$platform" "${processor/_/.}")"; then
    echo "wheels.sh: this is no program for $platform: $(file "$program")" >&2
    exit 1
  fi
  "$python" -m build --quiet --no-isolation --wheel --outdir "$work/made" \
    -Ccmake.define.ONNX_TAG_PREBUILT="$program" -Ccmake.define.ONNX_TAG_DOCUMENTS="$PWD/build/wheels/program/documents" .
  "$python" -m wheel tags --remove --platform-tag "$(tag_of "$platform")" "$work/made"/*.whl
  mv "$work/made"/*.whl "$work/dist/"
  rm "$program"
done

step "twine check"
"$python" -m twine check --strict "$work/dist"/*

step "which wheel pip takes"
for platform in "${platforms[@]}"; do
  tags=$(tag_of "$platform")
  for tag in ${tags//./ }; do
    rm -rf "$work/taken"
    "$python" -m pip download --quiet --no-index --find-links "$work/dist" --only-binary :all: --no-deps \
      --platform "$tag" --dest "$work/taken" onnx-tag
    taken=$(basename "$work/taken"/*.whl)
    echo "$tag: $taken"
    case $taken in *"$tags.whl") ;; *) echo "wheels.sh: pip takes the wrong wheel for $tag" >&2; exit 1 ;; esac
  done
done

for wheel in "$work/dist"/*"musllinux_1_1_$(uname -m).whl"; do
  [ -e "$wheel" ] || continue
  step "try $(basename "$wheel")"
  rm -rf "$work/try"
  python3 -m venv "$work/try"
  "$work/try/bin/pip" install --quiet --no-index "$wheel"
  (
    model=$PWD/tests/models/bert_tiny/model.onnx
    PATH=$work/try/bin:/usr/bin:/bin
    tools/release/try.sh onnx-tag
    cd "$work/try"
    onnx-tag --version | grep -Fx "onnx-tag $version"
    [ -s share/man/man1/onnx-tag.1 ] && [ -s share/bash-completion/completions/onnx-tag ]
    python -c '
import sys, onnx_tag
tags = onnx_tag.tag(sys.argv[1], "tagged.onnx")
assert tags.nodes == onnx_tag.Tags.load("tagged.onnx").nodes
print(tags, [n.module for n in tags.query("layer=1 and component=value and op=MatMul")])' "$model"
    pip uninstall --quiet --yes onnx-tag
  )
  if [ -e "$work/try/bin/onnx-tag" ] || [ -e "$work/try/share/man/man1/onnx-tag.1" ]; then
    echo "wheels.sh: files are left after uninstalling" >&2
    exit 1
  fi
done

step "made"
(cd "$work/dist" && ls -l -- * && sha256sum -- * | tee "$work/sums")
