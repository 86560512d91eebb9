#!/usr/bin/env bash
# Builds the site: static pages of docs/, the help of each command, the figures, and the page that maps a dropped file.
#
#   tools/site/site.sh [OUT_DIR] [ONNX_TAG]        default: build/site, build/onnx-tag
#
# The result is OUT_DIR/site; any web server can serve it. Needs Python and the packages of tools/site/requirements.txt,
# which it installs into OUT_DIR/venv. If emscripten is installed, web/build_page.sh makes the page in the browser beside
# ONNX_TAG; ONNX_TAG_PAGE names a page made elsewhere. Without either, the site has no "try it", and a line says so. A broken
# link or a page in no section is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "${1:-build/site}")
tool=$(realpath -m "${2:-build/onnx-tag}")
build=$(dirname "$tool")
try=${ONNX_TAG_PAGE:-}
[ -x "$tool" ] || { echo "site.sh: no program $tool; build onnx-tag first" >&2; exit 1; }
[ -z "$try" ] || [ -e "$try/index.html" ] || { echo "site.sh: no page in $try (ONNX_TAG_PAGE)" >&2; exit 1; }
mkdir -p "$out"
rm -rf "$out/pages" "$out/site" "$out/overrides" "$out/mkdocs.yml"
if [ ! -x "$out/venv/bin/mkdocs" ]; then
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install --quiet --disable-pip-version-check -r tools/site/requirements.txt
fi
if [ -z "$try" ] && command -v emcmake >/dev/null; then
  web/build_page.sh "$build" >"$out/page.log" 2>&1 ||
    { tail -5 "$out/page.log" >&2; echo "site.sh: web/build_page.sh failed: $out/page.log" >&2; exit 1; }
  try=$build/page/site
fi
[ -n "$try" ] || echo "site.sh: emscripten is not installed, so the site has no \"try it\" (apt-get install emscripten)" >&2
python3 tools/site/make_pages.py "$tool" "$out" ${try:+"$try"}
# Two builds of the same commit are equal: the date of the pages is that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
# Not --quiet: with it, mkdocs counts no warnings, and --strict accepts a broken link.
NO_MKDOCS_2_WARNING=1 "$out/venv/bin/mkdocs" build --strict -f "$out/mkdocs.yml" >"$out/mkdocs.log" 2>&1 ||
  { grep -v '^INFO' "$out/mkdocs.log" >&2; exit 1; }
find "$out/site" -name '*.gz' -delete # their headers have a time; servers compress by themselves
echo "site.sh: $(find "$out/site" -name '*.html' | wc -l) pages in $out/site"
