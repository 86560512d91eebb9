#!/usr/bin/env bash
# Measures `onnx-tag tag` over many small files: -j 1, -j 2 and a Python loop that loads and saves, in turns.
#
#   tests/bench/bench-batch.sh [FILES]     default 10,000 copies of a model of 100 nodes
#
# RUNS=5 is how often each runs; medians are printed. Python's onnx is that of PYTHON, as in tests/bench/bench.sh; it does
# PYTHON_FILES (500) of them. On a machine with other work the CPU column tells more than the clock. Where the models
# are is WORK, by default build/bench/batch; what is written goes there, too, and is removed before each run.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=${PROGRAM:-build/onnx-tag}
files=${1:-10000}
runs=${RUNS:-5}
work=${WORK:-build/bench/batch}
python_files=${PYTHON_FILES:-500}
python=${PYTHON:-build-test/clients/venv/bin/python}
[ -x "$(command -v "$python")" ] || python=python3
"$python" -c 'import onnx' 2>/dev/null || python=

mkdir -p "$work/zoo"
seq "$files" | awk -v zoo="$work/zoo" '{ printf "%s/%02d\n", zoo, $1 % 100 }' | sort -u | xargs mkdir -p
[ -e "$work/model.onnx" ] || build/make_model scoped 100 "$work/model.onnx"
for i in $(seq "$files"); do
  file=$work/zoo/$(printf %02d $((i % 100)))/m$i.onnx
  [ -e "$file" ] || cp "$work/model.onnx" "$file"
done

# timed NAME COMMAND...: a line with seconds and CPU seconds, kept under the name.
timed() {
  local name=$1
  shift
  rm -rf "$work/out"
  mkdir -p "$work/out"
  /usr/bin/time -a -o "$work/$name.times" -f '%e %U %S %M' "$@"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

rm -f "$work"/*.times
for _ in $(seq "$runs"); do
  for jobs in 1 2; do
    timed j$jobs "$program" -r "$work/zoo" --out-dir "$work/out" -j $jobs --quiet
  done
  [ -z "$python" ] || timed python "$python" -c '
import glob, onnx, sys
for i, f in enumerate(sorted(glob.glob(sys.argv[1] + "/zoo/*/*.onnx"))[:int(sys.argv[3])]):
    onnx.save(onnx.load(f), sys.argv[2] + "/%d.onnx" % i)
' "$work" "$work/out" "$python_files"
done

echo "| what | files | time, s | files/s | CPU, s | CPU ms a file | peak, MB |"
echo "|---|---:|---:|---:|---:|---:|---:|"
for name in j1 j2 python; do
  [ -e "$work/$name.times" ] || continue
  count=$files
  [ $name != python ] || count=$python_files
  seconds=$(awk '{ print $1 }' "$work/$name.times" | median)
  cpu=$(awk '{ print $2 + $3 }' "$work/$name.times" | median)
  peak=$(awk '{ print $4 / 1024 }' "$work/$name.times" | median)
  awk -v n="$name" -v c="$count" -v s="$seconds" -v u="$cpu" -v p="$peak" 'BEGIN {
    label = n == "python" ? "Python, onnx.load and onnx.save" : "onnx-tag -j " substr(n, 2)
    printf "| %s | %d | %.2f | %.0f | %.2f | %.3f | %.1f |\n", label, c, s, c / s, u, 1000 * u / c, p }'
done
rm -rf "$work/out"
