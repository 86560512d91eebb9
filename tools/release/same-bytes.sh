#!/usr/bin/env bash
# Lets the programs of two systems do the same work and compares every byte that they write.
#
#   tools/release/same-bytes.sh PROGRAM OTHER MODEL...
#   export WINEDEBUG=-all
#   tools/release/same-bytes.sh $PWD/build/onnx-tag "wine $PWD/build/cross/x86_64-windows/onnx-tag.exe" $PWD/models/*.onnx
#
# Paths must be absolute: each program runs in a folder of its own.
# The models get names in Cyrillic in a folder with a path of 300 characters. Each program maps them as a batch, in place
# and one by one, strips and splits them.
set -euo pipefail
programs=("$1" "$2")
shift 2
work=$(mktemp -d)
for which in 0 1; do
  deep=$work/$which/$(printf 'папка-из-сорока-знаков-или-около-того-%02d/' 1 2 3 4 5 6 7)
  mkdir -p "$deep"
  count=0
  for model in "$@"; do
    cp "$model" "$deep/модель-$count-сеть.onnx"
    count=$((count + 1))
  done
  here=${deep#"$work/$which/"}
  cd "$work/$which"
  run() {
    local code=0
    # shellcheck disable=SC2086  # a program may be several words
    ${programs[which]} "$@" >>said 2>&1 || code=$?
    echo "exit $code" >>said
  }
  run tag --recursive "$here" -j 4 --keep-going --json
  mkdir original
  cp "$here"/*-сеть.onnx original
  for ((i = 0; i < count; ++i)); do
    name=модель-$i-сеть
    [ -e "$here/$name.tagged.onnx" ] || continue
    run strip "$here/$name.tagged.onnx" -o "$here/$name.back.onnx"
    run split "$here/$name.tagged.onnx" --parts 2 --out-dir "$here/части-$i"
    run show "$here/$name.tagged.onnx"
  done
  run tag original/*.onnx --in-place --no-sidecar -j 4 --keep-going
  # A batch reports in the order in which its threads finish.
  sed 's/, "seconds": [^}]*//' said | sort >"$work/said.$which"
  mv said "$work/raw.$which"
done
echo "$count models, paths of $((${#deep} + 30)) characters"
for which in 0 1; do
  (cd "$work/$which" && find . -type f | sort | xargs -d '\n' sha256sum) >"$work/sums.$which"
done
echo "$(wc -l <"$work/sums.0") files: $(grep -c 'tagged.onnx$' "$work/sums.0") tagged, $(grep -c 'tags.json$' "$work/sums.0") sidecars," \
  "$(grep -c 'back.onnx$' "$work/sums.0") stripped, $(grep -c 'части' "$work/sums.0") of parts, $(grep -c original "$work/sums.0") in place"
diff "$work/sums.0" "$work/sums.1" | head || { echo "same-bytes.sh: the files differ; they are in $work" >&2; exit 1; }
diff "$work/said.0" "$work/said.1" | head ||
  { echo "same-bytes.sh: the messages differ: $work/raw.0 and $work/raw.1" >&2; exit 1; }
rm -rf "$work"
echo "same-bytes.sh: every byte is equal"
