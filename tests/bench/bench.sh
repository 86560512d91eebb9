#!/usr/bin/env bash
# Measures `onnx-tag tag --no-sidecar` beside cp, protobuf and Python's onnx on models it makes itself.
#
#   tests/bench/bench-batch.sh          many small files, with -j 1 and -j 2
#   tests/bench/bench.sh [MODEL...]     bert_tiny scoped_1e5 scoped_1e6 modules_1e5 modules_1e6 unscoped_1e5 weights constant external; default: all
#
# Needs 4 GB of disk in build/bench and, for the peers, 7 GB of memory. RUNS=5 is how often each command runs; the
# commands take turns. Python's onnx is that of PYTHON, by default of the environment of the client tests, else python3;
# where it cannot be imported its rows are left out. The table is printed and kept in build/bench/results.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh build

configure release -DONNX_TAG_BENCH=ON
cmake --build build --target onnx-tag make_model measure protobuf_roundtrip

runs=${RUNS:-5}
work=build/bench/models
results=build/bench/results.md
mkdir -p $work
python=${PYTHON:-build-test/clients/venv/bin/python}
[ -x "$(command -v "$python")" ] || python=python3
"$python" -c 'import onnx' 2>/dev/null || python=
[ $# -gt 0 ] || set -- bert_tiny scoped_1e5 scoped_1e6 modules_1e5 modules_1e6 unscoped_1e5 weights constant external

# model NAME: its path, made when it is not there.
model() {
  local file=$work/$1.onnx
  case $1 in
    bert_tiny) cp tests/models/bert_tiny/model.onnx $file ;;
    *) [ -e $file ] || build/make_model $(sed 's/_1e5/ 100000/;s/_1e6/ 1000000/;/ /!s/$/ 5000/' <<<"$1") $file ;;
  esac
  echo $file
}

row() { printf '| %s | %s | %s | %s | %s | %s | %s |\n' "$@" | tee -a $results; }

: >$results
row model MB command "time, s" "of cp" "CPU, s" "peak, MB"
row --- ---: --- ---: ---: ---: ---:
for name in "$@"; do
  file=$(model $name)
  out=$work/out.onnx
  # Once before, so that the file is in memory for the first command, too.
  cat $file >/dev/null
  names=(cp "onnx-tag tag" "protobuf, parse and serialize")
  commands=(-- cp $file $out -- build/onnx-tag tag --quiet --no-sidecar -o $out $file
    -- build/protobuf_roundtrip $file $out)
  # Loading would read the 100 GB.
  if [ -n "$python" ] && [ $name != external ]; then
    names+=("Python, onnx.load and onnx.save")
    commands+=(-- "$python" -c "import onnx; onnx.save(onnx.load('$file'), '$out')")
  fi
  size=$(stat -c %s $file)
  i=0
  cp_time=
  while read -r seconds cpu kilobytes; do
    : "${cp_time:=$seconds}"
    row $name "$(awk "BEGIN { printf \"%.1f\", $size / 1e6 }")" "${names[i]}" \
      "$(awk "BEGIN { printf \"%.4f\", $seconds }")" "$(awk "BEGIN { printf \"%.2f\", $seconds / $cp_time }")" \
      "$(awk "BEGIN { printf \"%.4f\", $cpu }")" "$(awk "BEGIN { printf \"%.1f\", $kilobytes / 1024 }")"
    i=$((i + 1))
  done < <(build/measure "$runs" $out "${commands[@]}")
  [ $i -eq ${#names[@]} ] || exit 1
done
read -r seconds cpu kilobytes < <(build/measure 21 $work/out.onnx -- build/onnx-tag --version)
row - - "onnx-tag --version" "$(awk "BEGIN { printf \"%.4f\", $seconds }")" - \
  "$(awk "BEGIN { printf \"%.4f\", $cpu }")" "$(awk "BEGIN { printf \"%.1f\", $kilobytes / 1024 }")"
echo "kept in $results"
