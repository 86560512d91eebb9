#!/usr/bin/env bash
# Measures how the time of `onnx-tag tag` grows on the graphs of tests/growth, each made to be hard for some step.
#
#   scripts/bench-growth.sh [SHAPE...]     default: all; build/make_growing lists them
#
# SIZES="1000 10000 100000" are the sizes, RUNS=1 is how often each command runs. The table has CPU seconds, the peak of memory
# at the largest size, and the exponent between the last two sizes. It is printed and kept in build/bench/growth.md. The work
# of the other commands is counted, not timed: cmake --preset growth.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/setup.sh build

configure release -DONNX_TAG_BENCH=ON
cmake --build build --target onnx-tag make_growing measure

read -ra sizes <<<"${SIZES:-1000 10000 100000}"
work=build/bench/growth
results=build/bench/growth.md
mkdir -p $work
[ $# -gt 0 ] || mapfile -t shapes < <(build/make_growing)
[ $# -eq 0 ] || shapes=("$@")

: >$results
{
  printf '| shape |'
  printf ' %s |' "${sizes[@]}" "peak, MB" exponent
  printf '\n| --- |'
  printf ' ---: |%.0s' "${sizes[@]}" 1 2
  printf '\n'
} | tee -a $results
for shape in "${shapes[@]}"; do
  row="| $shape |"
  before=0
  for size in "${sizes[@]}"; do
    build/make_growing "$shape" "$size" $work/model.onnx
    read -r _ cpu kilobytes < <(build/measure "${RUNS:-1}" $work/out.onnx -- build/onnx-tag tag --quiet --no-sidecar \
      -o $work/out.onnx $work/model.onnx)
    row+=" $(awk "BEGIN { printf \"%.3f\", $cpu }") |"
    last=$before
    before=$cpu
  done
  n=${#sizes[@]}
  exponent=$(awk "BEGIN { printf \"%.2f\", log($cpu / $last) / log(${sizes[n - 1]} / ${sizes[n - 2]}) }")
  row+=" $(awk "BEGIN { printf \"%.0f\", $kilobytes / 1024 }") | $exponent |"
  echo "$row" | tee -a $results
done
rm -r $work
echo "kept in $results"
