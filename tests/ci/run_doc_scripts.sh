#!/usr/bin/env bash
# Runs the scripts that docs/guide/ci.md shows, as they stand there, with the program on PATH.
#
#   run_doc_scripts.sh PROGRAM SOURCE_FOLDER
set -euo pipefail
program=$(realpath "$1")
source=$(realpath "$2")
doc=$source/docs/guide/ci.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$program" "$work/bin/onnx-tag"
export PATH="$work/bin:$PATH"

# section HEADING LANGUAGE: the fenced blocks of one section.
section() {
  awk -v heading="## $1" -v fence="\`\`\`$2" '
    /^## / { inside = ($0 == heading) }
    inside && $0 == fence { block = 1; next }
    /^```$/ { if (block) print ""; block = 0 }
    block { print }' "$doc"
}

# ran NAME EXIT SCRIPT: runs it in a new checkout with models.
ran() {
  local folder=$work/$1 got=0
  mkdir -p "$folder/models/text"
  cp "$source/tests/models/bert_tiny/model.onnx" "$folder/models/text/bert.onnx"
  cp "$source/tests/models/bert_tiny/model.onnx" "$folder/models/it's bert.onnx"
  [ -z "${broken:-}" ] || echo nonsense >"$folder/models/broken.onnx"
  git -C "$folder" init -q
  git -C "$folder" add .
  (cd "$folder" && bash -eo pipefail -c "$3" >"$folder/said" 2>&1) || got=$?
  if [ $got -ne "$2" ]; then
    echo "$1: exit $got instead of $2:" >&2
    cat "$folder/said" >&2
    exit 1
  fi
  echo "$1: exit $got"
}

shell=$(section "Any shell" sh)
[ -n "$shell" ]
ran shell 0 "$shell"
[ -e "$work/shell/tagged/models/text/bert.tagged.onnx" ]
grep -qx 2 "$work/shell/said"

# The lines under `run: |`, and under `- ` of script: and between quotes of sh.
github=$(section GitHub yaml | sed -n '/every model maps/,/- uses/p' | sed -n '/run: |/,/- uses/p' | grep -v -e 'run: |' -e '- uses')
[ -n "$github" ]
ran github 0 "$github"
broken=1 ran github_broken 5 "$github"
grep -q '^::error file=models/broken.onnx,' "$work/github_broken/said"

# The last step of the action.
action="$source/tools/release/action.sh run"
acted() { ran "$1" "$2" "export MODELS=$(printf %q "$3") ARGUMENTS=$(printf %q "$4"); $action"; }
acted action 0 $'models/*.onnx\nmodels/**/bert.onnx' '--dry-run --min-coverage 50'
# A gate on a line of its own is a gate.
acted action_two_lines 1 'models/**/*.onnx' $'--dry-run\n--require-module no.such.module\n'
grep -q "^::error.*it's bert.onnx" "$work/action_two_lines/said"
grep -q "^::error.*text/bert.onnx" "$work/action_two_lines/said"
acted action_spaces 0 "models/it's bert.onnx" "--out-dir 'tagged models'"
[ -e "$work/action_spaces/tagged models/it's bert.tagged.onnx" ]
acted action_open_quote 2 'models/*.onnx' "--out-dir 'tagged"
acted action_nothing 1 'models/*.txt' ''
# A version cannot be installed without Python; the message says that, not that the index lacks the version.
mkdir "$work/bare"
ln -s "$(command -v dirname)" "$work/bare/"
ran action_no_python 1 "VERSION=9.9.9 PATH=$(printf %q "$work/bare") $BASH $(printf %q "$source/tools/release/action.sh") install"
grep -q '^::error.*needs python3' "$work/action_no_python/said"
# The steps before it: a key of the sources, and the program of the cache on the PATH.
[ "$("$source/tools/release/action.sh" key)" = "$("$source/tools/release/action.sh" key)" ]
grep -q 'tools/release/action.sh install' "$source/action.yml"
grep -q 'tools/release/action.sh run' "$source/action.yml"

gitlab=$(section GitLab yaml | sed -n '/script:/,/artifacts:/s/^ *- //p')
[ -n "$gitlab" ]
ran gitlab 0 "$gitlab"
broken=1 ran gitlab_broken 5 "$gitlab"

jenkins=$(section Jenkins groovy | sed -n "/sh '''/,/'''\$/p" | grep -v "'''")
[ -n "$jenkins" ]
ran jenkins 0 "$jenkins"
broken=1 ran jenkins_broken 5 "$jenkins"
for xml in "$work"/{gitlab,gitlab_broken,jenkins,jenkins_broken}/onnx-tag.xml; do
  if command -v python3 >/dev/null; then
    python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$xml"
  fi
  grep -q '<testsuite name="onnx-tag" tests=' "$xml"
done

# The hook, as pre-commit would call it.
entry=$(sed -n 's/^ *entry: //p' "$source/.pre-commit-hooks.yaml")
args=$(sed -n 's/^ *args: \[\(.*\)\]/\1/p' "$source/.pre-commit-hooks.yaml" | tr -d '",')
ran pre_commit 0 "$entry $args models/*.onnx models/text/bert.onnx"
[ ! -e "$work/pre_commit/models/text/bert.tagged.onnx" ]
broken=1 ran pre_commit_broken 5 "$entry $args models/*.onnx"
