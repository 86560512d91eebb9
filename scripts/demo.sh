#!/usr/bin/env bash
# From a fresh checkout to a tagged model: sets up, builds, tags the bundled BERT and shows what came out.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh build

# -O1 is enough for a demo and compiles sooner. A build of its own, so that the release build stays one.
build=build/demo
configure release -DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -B $build
if [ ! -x $build/onnx-tag ]; then
  # Measured on an arm64 server: 250 s of one core, and the longest file takes 30 of them.
  seconds=$((250 / $(nproc) + 30))
  echo "demo.sh: compiling onnx-tag; on $(nproc) cores this takes about $((seconds / 60)) min $((seconds % 60)) s"
fi
cmake --build $build --target onnx-tag

model=tests/models/bert_tiny/model.onnx
out=$build/tagged
mkdir -p $out
run() {
  echo
  echo "\$ onnx-tag $*"
  $build/onnx-tag "$@"
}

run tag $model -o $out/bert_tiny.onnx
run show $out/bert_tiny.onnx
for node in /encoder/layer.0/attention/self/query/MatMul /encoder/layer.1/intermediate/intermediate_act_fn/Erf \
    /pooler/activation/Tanh; do
  run explain $model $node
done
echo
echo "The model with its tags: $out/bert_tiny.onnx"
echo "The same as JSON:        $out/bert_tiny.tags.json"
echo "The program:             $build/onnx-tag"
