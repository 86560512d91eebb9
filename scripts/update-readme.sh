#!/usr/bin/env bash
# Runs the commands shown in README.md and puts their output under them.
#
#   scripts/update-readme.sh [--check] [ONNX_TAG]
#
# A block that follows `<!-- runs: ARGUMENTS -->` is the output of `onnx-tag ARGUMENTS`, run in the checkout's root.
# With --check nothing is written, and the exit code is 1 where README.md would change: ctest does that.
set -euo pipefail
cd "$(dirname "$0")/.."
check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
tool=${1:-build/onnx-tag}
fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

in_block=
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
      # shellcheck disable=SC2086
      "$tool" $arguments 2>/dev/null
      in_block=1
      ;;
  esac
done <README.md >"$fresh"

if [ -n "$check" ]; then
  diff -u README.md "$fresh" || {
    echo "README.md shows other output than the program gives; run scripts/update-readme.sh" >&2
    exit 1
  }
else
  cat "$fresh" >README.md
fi
