#!/usr/bin/env bash
# Runs the commands shown in README.md and docs/guide/tour.md and puts their output under them.
#
#   scripts/update-readme.sh [--check] [ONNX_TAG]
#
# A block that follows `<!-- runs: ARGUMENTS -->` is the output of `onnx-tag ARGUMENTS`: for README.md run in the
# checkout's root, for the tour in a folder with its model and measurements. With --check nothing is written, and the
# exit code is 1 where a document would change: ctest does that.
set -euo pipefail
cd "$(dirname "$0")/.."
check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
tool=$(realpath "${1:-build/onnx-tag}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# refresh DOCUMENT FOLDER
refresh() {
  local line arguments opening in_block=''
  while IFS= read -r line; do
    if [ -n "$in_block" ]; then
      [ "$line" = '```' ] || continue
      in_block=
    fi
    printf '%s\n' "$line"
    case $line in
      '<!-- runs: '*' -->')
        arguments=${line#<!-- runs: }
        arguments=${arguments% -->}
        read -r opening
        printf '%s\n$ onnx-tag %s\n' "$opening" "$arguments"
        # The documents are ours, and quote as a shell does.
        (cd "$2" && eval "\"\$tool\" $arguments" 2>"$work/error" </dev/null) || {
          echo "update-readme.sh: $1: onnx-tag $arguments: $(cat "$work/error")" >&2
          return 1
        }
        in_block=1
        ;;
    esac
  done <"$1" >"$work/fresh"
  if [ -z "$check" ]; then
    cat "$work/fresh" >"$1"
  elif ! diff -u "$1" "$work/fresh"; then
    echo "$1 shows other output than the program gives; run scripts/update-readme.sh" >&2
    return 1
  fi
}

refresh README.md .
mkdir "$work/tour"
cp tests/models/bert_tiny/model.onnx tests/tour/error.tsv tests/tour/profile.json "$work/tour/"
refresh docs/guide/tour.md "$work/tour"
