#!/usr/bin/env bash
# Uses a program as a user would: tools/release/try.sh PROGRAM
#
# Tags a model under a name in Cyrillic and in a folder with a path of 300 characters, strips it and compares the bytes.
# Works with bash on Linux, macOS and Windows.
set -euo pipefail
program=$1
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac
cd "$(dirname "$0")/../.."
model=$PWD/tests/models/bert_tiny/model.onnx
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$program" --version
name=модель
# Windows' own tools stop at 260 characters, so the program makes the folders.
long=$(printf 'folder-of-forty-characters-%013d/' 1 2 3 4 5 6)
cp "$model" "$name.onnx"
"$program" tag "$name.onnx"
"$program" show "$name.tagged.onnx" --depth 2
"$program" tag "$name.onnx" --out-dir "$long" --no-sidecar
"$program" strip "$name.tagged.onnx" -o back.onnx
cmp back.onnx "$name.onnx"
"$program" check "$name.tagged.onnx"
"$program" split "$name.tagged.onnx" --at encoder.layer.1 --out-dir parts
"$program" query "$name.tagged.onnx" 'layer=0 and component=query and op=MatMul'
"$program" completion bash >completion.bash
cp -r "$name.tagged.onnx" again.onnx
"$program" tag again.onnx --in-place --no-sidecar
cmp again.onnx "$name.tagged.onnx"
"$program" strip again.onnx --in-place
cmp again.onnx "$name.onnx"
echo "try.sh: all done"
