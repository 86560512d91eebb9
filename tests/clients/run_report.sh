#!/bin/sh
# Tests the report in a real browser, and that the checked-in page is what its sources give.
#
#   run_report.sh BINARY [WORK_DIR]
#
# Exit 1 if a check fails, 77 if node, npm or a browser is missing, which ctest takes as a skip.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ $# -ge 1 ] || { echo "usage: run_report.sh BINARY [WORK_DIR]" >&2; exit 2; }
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
[ -x "$binary" ] || { echo "run_report.sh: $1 is no program" >&2; exit 2; }
work=${2:-$root/build/clients-venv}/report
skip() { echo "run_report.sh: $1; nothing was checked" >&2; exit 77; }
command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"

# A copy, so that the checkout stays as it is.
mkdir -p "$work/web"
(cd "$root/web" && tar -cf - --exclude=node_modules --exclude=dist .) | tar -xf - -C "$work/web"
"$work/web/build.sh" "$work/dist" || skip "the page's tools could not be installed"
for file in report.html LICENSES.txt; do
    cmp "$work/dist/$file" "$root/web/dist/$file" || {
        echo "run_report.sh: web/dist/$file is not what web/build.sh makes of web/src: run it and commit the result" >&2
        exit 1
    }
done
(cd "$work/web" && node test.mjs)

# Debian's browser, or Google's.
for browser in chromium chromium-browser google-chrome; do
    [ ! -x "/usr/bin/$browser" ] || found=$browser
done
[ -n "${found:-}" ] || skip "no Chromium is installed"
node "$work/web/test/browser.mjs" "$binary" "$root/tests/models/bert_tiny/model.onnx" "$work/pages"
