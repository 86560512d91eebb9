#!/usr/bin/env bash
# Runs every line of the documents that is an example: a fenced block of lines that begin with `onnx-tag`.
#
#   tests/docs/run_examples.sh PROGRAM SOURCE_FOLDER
#
# Each line runs in a folder with a BERT of two layers under the names that the documents use, and other layers are
# layer 1. What stands behind three blanks is a comment. A line must end with 0 or with a finding (1); an unknown option,
# an invalid query or a file that cannot be written fails the test.
set -euo pipefail
program=$(realpath "$1")
source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/files"
ln -s "$program" "$work/bin/onnx-tag"
export PATH="$work/bin:$PATH"
cd "$work/files"
bert=$source/tests/models/bert_tiny/model.onnx
mkdir zoo models out
for name in flamegraph.pl trtexec; do printf '#!/bin/sh\ncat >/dev/null\n' >"$work/bin/$name"; done
chmod +x "$work"/bin/*
printf '\2\0\0\0\0\0\0\0{}' >model.safetensors
cp model.safetensors old.safetensors
cp model.safetensors new.safetensors
for name in model model.int8 model.opt model.quant finetuned big old new bert gpt2; do cp "$bert" $name.onnx; done
cp "$bert" zoo/bert.onnx
cp "$bert" models/bert.onnx
onnx-tag model.onnx -q
onnx-tag model.onnx --rename-nodes -o named.onnx -q
cp model.tagged.onnx model.opt.tagged.onnx
onnx-tag old.onnx --sidecar-only -q
onnx-tag new.onnx --sidecar-only -q
cp "$source/tests/tour/profile.json" profile.json
cp profile.json before.json
cp profile.json after.json
cp profile.json onnxruntime_profile.json
cp "$source/tests/tour/error.tsv" errors.tsv
cp errors.tsv sensitivity.tsv
cp errors.tsv error.tsv
onnx-tag weights model.onnx --tsv >/dev/null
cp "$source/tests/models/bert_tiny/hierarchy.json" hierarchy.json
echo "Non-zero status code returned while running MatMul node. Name:'/encoder/layer.0/attention/self/query/MatMul'" >engine.log
git init -q .

# Needs an engine of TensorRT, a number that ONNX Runtime wrote for a device, or a profile of several runs.
unable='trt|mem_in_use_peak|--skip-runs'
lines=0
failed=0
for page in "$source"/docs/guide/*.md "$source"/docs/reference/*.md; do
  # The lines of blocks that have nothing but examples.
  awk '/^```/ { if (inside) { if (all && n) for (i = 1; i <= n; ++i) print line[i]; inside = 0 }
                else { inside = $0 == "```" && last !~ /^<!-- (not run|runs): /; all = 1; n = 0; skip = !inside; if (skip) inside = 1 }; next }
       inside { line[++n] = $0; if (skip || $0 !~ /^onnx-tag /) all = 0 }
       $0 != "" { last = $0 }' "$page" >"$work/examples"
  while IFS= read -r line; do
    [[ ! $line =~ $unable ]] || continue
    rm -rf "$work/block"
    cp -al "$work/files" "$work/block"
    command=$(sed -e 's/   .*//' -e 's/layer\.[2-9]/layer.1/g' -e 's/\blayer[<>]=\?6/layer<1/' <<<"$line")
    got=0
    (cd "$work/block" && timeout 60 bash -o pipefail -c "$command" >"$work/said" 2>"$work/error" </dev/null) || got=$?
    lines=$((lines + 1))
    if [ $got -gt 1 ]; then
      echo "${page#"$source"/}: $command: exit $got: $(head -2 "$work/error")" >&2
      failed=1
    fi
  done <"$work/examples"
done
echo "run_examples.sh: $lines lines"
[ $lines -ge 50 ] || { echo "run_examples.sh: too few lines; does it still find the blocks?" >&2; exit 1; }
exit $failed
