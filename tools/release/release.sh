#!/usr/bin/env bash
# Makes everything of a release from the tag of the version, and says what a person must still do.
#
#   tools/release/release.sh [--dry-run]
#
# The version is the one in python/onnx_tag/_version.py; the checkout must be clean and have the tag v<version>. Makes the
# wheels and the source archive (tools/release/wheels.sh), the .deb and the tarball (tools/release/packages.sh), the site
# (tools/site/site.sh), the notes and SHA256SUMS in build/release/<version>. --dry-run only checks and lists.
set -euo pipefail
cd "$(dirname "$0")/../.."
dry_run=
[ "${1:-}" != --dry-run ] || dry_run=1
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' python/onnx_tag/_version.py)
out=build/release/$version
problems=()
[ -z "$(git status --porcelain)" ] || problems+=("the checkout has changes that are not committed")
[ "$(git describe --tags --exact-match 2>/dev/null || true)" = "v$version" ] || problems+=("HEAD has no tag v$version: git tag -s v$version")
# The notes are the section of the version, without its heading.
notes=$(awk -v head="## $version" 'index($0, "## ") == 1 { inside = index($0, head) == 1; next } inside' CHANGELOG.md)
[ -n "${notes//[[:space:]]/}" ] || problems+=("CHANGELOG.md has no section ## $version")
! grep -q "^## $version (unreleased)" CHANGELOG.md || problems+=("CHANGELOG.md says that $version is unreleased: put the date there")
if [ ${#problems[@]} -gt 0 ]; then
  printf 'release.sh: %s\n' "${problems[@]}" >&2
  [ -n "$dry_run" ] || exit 1
fi
steps() {
  cat <<STEPS
To publish onnx-tag $version:
  1. scripts/release-check.sh passed on this commit
  2. git push origin main v$version
  3. on GitHub: Actions, release, Run workflow, version $version (wheels of all systems, PyPI, the release)
  4. on GitHub: Releases, v$version, add the files of $out that the workflow does not make: *.deb, *.tar.gz
  5. on GitHub: Settings, Pages, source "GitHub Actions" (once); the workflow site publishes main
  6. set the next version in python/onnx_tag/_version.py and a section in CHANGELOG.md
STEPS
}
if [ -n "$dry_run" ]; then
  echo "would make $out: wheels for six platforms, the source archive, .deb, tarball, site, notes.md, SHA256SUMS"
  steps
  exit
fi
rm -rf "$out"
mkdir -p "$out"
tools/release/wheels.sh
. scripts/setup.sh build
configure release
cmake --build build --target onnx-tag
tools/site/site.sh build/site # with emscripten also the page in the browser, which the packages contain
tools/release/packages.sh
cp build/wheels/dist/* build/packages/first/*.deb build/packages/first/*.tar.gz "$out/"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -C build/site -czf "$out/onnx-tag-$version-site.tar.gz" site
printf '%s\n' "$notes" >"$out/notes.md"
(cd "$out" && sha256sum -- * >SHA256SUMS)
cat "$out/SHA256SUMS"
steps
