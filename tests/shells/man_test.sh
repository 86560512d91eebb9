#!/bin/sh
# Renders every man page and fails on a warning: man_test.sh FOLDER. Exit 77 where man is missing.
set -eu
command -v man >/dev/null && command -v groff >/dev/null || { echo "man_test.sh: man or groff is not installed" >&2; exit 77; }
cd "$1"
for page in *.1; do
  said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
  [ -z "$said" ] || { echo "$page: $said" >&2; exit 1; }
done
LC_ALL=C.UTF-8 MANWIDTH=80 man -l onnx-tag-select.1 | col -b | grep -q -e '--for TOOL'
echo "$(ls ./*.1 | wc -l) pages"
