#!/usr/bin/env bash
# Builds the site: static pages of docs/, the help of each command, the figures, and the page that maps a dropped file.
#
#   scripts/site.sh [OUT_DIR] [ONNX_TAG]        default: build/site, build/onnx-tag
#
# The result is OUT_DIR/site; any web server can serve it. Needs Python and the packages of tools/site/requirements.txt,
# which it installs into OUT_DIR/venv. The page in the browser is taken from ONNX_TAG_PAGE (default: build/page/site), where
# web/build_page.sh makes it; without it, the site has no "try it". A broken link or a page in no section is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:-build/site}")
tool=$(realpath -m "${2:-build/onnx-tag}")
try=${ONNX_TAG_PAGE:-build/page/site}
[ -x "$tool" ] || { echo "site.sh: no program $tool; build onnx-tag first" >&2; exit 1; }
mkdir -p "$out"
rm -rf "$out/pages" "$out/site" "$out/overrides" "$out/mkdocs.yml"
if [ ! -x "$out/venv/bin/mkdocs" ]; then
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install --quiet --disable-pip-version-check -r tools/site/requirements.txt
fi
python3 tools/site/make_pages.py "$tool" "$out"
if [ -e "$try/index.html" ]; then
  cp -r "$try" "$out/pages/try"
  sed -i 's|^!\[The report|[Try it: drop a model, see its tree. Nothing leaves your browser.](try/index.html)\n\n&|' "$out/pages/index.md"
else
  echo "site.sh: no page in $try (web/build_page.sh makes it, with emscripten); the site has no \"try it\"" >&2
fi
# Two builds of the same commit are equal: the date of the pages is that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 0)
export SOURCE_DATE_EPOCH
NO_MKDOCS_2_WARNING=1 "$out/venv/bin/mkdocs" build --quiet --strict -f "$out/mkdocs.yml"
find "$out/site" -name '*.gz' -delete # their headers have a time; servers compress by themselves
echo "site.sh: $(find "$out/site" -name '*.html' | wc -l) pages in $out/site"
