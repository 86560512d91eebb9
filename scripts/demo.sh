#!/usr/bin/env bash
# From a fresh checkout to a tagged model: sets up, builds, tags the bundled BERT and shows what came out.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh build

configure release -DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF
cmake --build build --target onnx-tag

model=tests/models/bert_tiny/model.onnx
out=build/demo
mkdir -p $out
run() {
  echo
  echo "\$ onnx-tag $*"
  build/onnx-tag "$@"
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
echo "The program:             build/onnx-tag"
