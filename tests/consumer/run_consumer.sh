#!/bin/sh
# Installs a build into an empty folder, builds the consumer against it and runs both: run_consumer.sh BUILD CXX MODEL
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1 compiler=$2 model=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/tree" >"$work/install.log"
for file in bin/onnx-tag share/man/man1/onnx-tag.1 share/man/man1/onnx-tag-select.1 \
    share/bash-completion/completions/onnx-tag share/zsh/vendor-completions/_onnx-tag \
    share/fish/vendor_completions.d/onnx-tag.fish share/doc/onnx-tag/README.md share/doc/onnx-tag/onnx-tag.cdx.json; do
  [ -s "$work/tree/$file" ] || { echo "run_consumer.sh: $file is not installed" >&2; exit 1; }
done
cmake -S "$here" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/tree" \
  -Donnx_tag_INCLUDE_DIR="$work/tree/include" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
# The library and the program give the same answer.
for query in 'layer=0 and component=query and op=MatMul' 'layer=0'; do
  "$work/build/consumer" "$model" "$query" >"$work/modules.txt"
  "$work/tree/bin/onnx-tag" query "$model" "$query" --tsv 2>/dev/null | tail -n +2 | cut -f 3,6 >"$work/expected.txt"
  [ -s "$work/expected.txt" ] || { echo "run_consumer.sh: the program found no node" >&2; exit 1; }
  cmp "$work/modules.txt" "$work/expected.txt"
done
# The example gives the bytes of the program.
cmake -S "$here/../../docs/examples/tag_in_cpp" -B "$work/example" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/tree" \
  >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/example" >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
cp "$model" "$work/model.onnx"
"$work/tree/bin/onnx-tag" "$work/model.onnx" -q
"$work/example/tag_in_cpp" "$work/model.onnx" "$work/example/out" | sed -n '2p' | grep -q attention
cmp "$work/example/out.onnx" "$work/model.tagged.onnx"
cmp "$work/example/out.tags.json" "$work/model.tags.json"
cmp "$work/example/out.stripped.onnx" "$work/model.onnx"
# With a recording, too, but for the digest of the options; here no name in the file helps.
recorded=$1/truth_files/bert
cp "$recorded/ts-bare.onnx" "$work/bare.onnx"
"$work/tree/bin/onnx-tag" "$work/bare.onnx" --recording "$recorded/recording.json" -q
"$work/example/tag_in_cpp" "$work/bare.onnx" "$work/example/bare" "$recorded/recording.json" | grep -q 'attention.*high\|attention.*certain'
for file in "$work/bare.tagged.onnx" "$work/bare.tags.json" "$work/example/bare.onnx" "$work/example/bare.tags.json"; do
  LC_ALL=C grep -aq '"options": *"[0-9a-f]\{16\}"' "$file" || { echo "run_consumer.sh: no options in $file" >&2; exit 1; }
  LC_ALL=C sed 's/"options": *"[0-9a-f]\{16\}"//' "$file" >"$file.same"
done
cmp "$work/example/bare.onnx.same" "$work/bare.tagged.onnx.same"
cmp "$work/example/bare.tags.json.same" "$work/bare.tags.json.same"
# It refuses a recording that is none, and never replaces its model.
if "$work/example/tag_in_cpp" "$work/model.onnx" "$work/example/other" "$work/model.onnx" 2>"$work/refused"; then
  echo "run_consumer.sh: a model was taken for a recording" >&2
  exit 1
fi
grep -q -e --recording "$work/refused"
if "$work/example/tag_in_cpp" "$work/model.onnx" "$work/model" 2>"$work/refused"; then
  echo "run_consumer.sh: the model was replaced" >&2
  exit 1
fi
cmp "$model" "$work/model.onnx"
echo "consumer: $(wc -l <"$work/modules.txt") nodes"
