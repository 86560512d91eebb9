#!/bin/sh
# Builds the page with emscripten and tests it in a real browser.
#
#   run_page.sh BINARY BUILD_DIR [WORK_DIR]
#
# Exit 1 if a check fails, 77 if emscripten, node, npm or a browser is missing, which ctest takes as a skip.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
[ $# -ge 2 ] || { echo "usage: run_page.sh BINARY BUILD_DIR [WORK_DIR]" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
build=$(cd "$2" && pwd)
work=${3:-$build/clients}/page
skip() { echo "run_page.sh: $1; nothing was checked" >&2; exit 77; }
for tool in emcmake node npm; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done
for browser in chromium chromium-browser google-chrome; do
    [ ! -x "/usr/bin/$browser" ] || found=$browser
done
[ -n "${found:-}" ] || skip "no Chromium is installed"

mkdir -p "$work"
"$root/web/build_page.sh" "$build"
node "$root/web/test/page.mjs" "$binary" "$build/page/site" "$root/tests/models/bert_tiny/model.onnx" "$work/made"
