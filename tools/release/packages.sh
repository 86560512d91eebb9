#!/usr/bin/env bash
# Makes the .deb and the tarball twice, from two build folders, compares the bytes, and checks the .deb with lintian.
#
#   tools/release/packages.sh [BUILD_FOLDER]      default: two fresh builds below build/packages
#
# With BUILD_FOLDER (a release build) only the second build is made anew. The results are in build/packages.
# If `web/build_page.sh build` made the page, the packages contain it.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/setup.sh build

work=$PWD/build/packages
# The time of the last commit: the same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
pack() {  # pack BUILD OUT
  cmake --build "$1" --target onnx-tag documents
  rm -rf "$2"
  (cd "$1" && cpack -B "$2" >"$work/cpack.log" 2>&1) || { tail -20 "$work/cpack.log" >&2; exit 1; }
  rm -rf "$2/_CPack_Packages"
}
mkdir -p "$work"
page=$PWD/build/page/site
[ -f "$page/index.html" ] ||
  echo "packages.sh: $page does not exist; the packages are made without the page. Make it with: web/build_page.sh build" >&2
first=${1:-$work/build-1}
options=(-DBUILD_TESTING=OFF -DONNX_TAG_BENCH=OFF -DONNX_TAG_PAGE="$page")
if [ -n "${1:-}" ]; then
  cmake -S . -B "$first" -DONNX_TAG_PAGE="$page"
else
  configure release "${options[@]}" -B "$first"
fi
configure release "${options[@]}" -B "$work/another-build"
pack "$first" "$work/first"
pack "$work/another-build" "$work/second"
(cd "$work/first" && sha256sum -- *.deb *.tar.gz | sort -k2) >"$work/first.sums"
(cd "$work/second" && sha256sum -- *.deb *.tar.gz | sort -k2) >"$work/second.sums"
cat "$work/first.sums"
cmp "$work/first.sums" "$work/second.sums" || { echo "packages.sh: two builds differ" >&2; exit 1; }
ls -l "$work/first"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$work/first"/*.deb
  echo "lintian: clean"
else
  echo "packages.sh: lintian is not installed; the .deb was not checked" >&2
fi
