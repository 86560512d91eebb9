#!/usr/bin/env bash
# Fills in what the documents take from the program and from files with figures.
#
#   scripts/update-docs.sh [--check] [ONNX_TAG]
#
# In README.md and below docs/:
#   <!-- runs: ARGUMENTS [## FILTER] -->               before a fenced block: the output of `onnx-tag ARGUMENTS`, or the
#                                                      part that FILTER keeps
#   <!-- table: FILE [rows=REGEX] [columns=A,B] -->    before a table: rows of docs/FILE, chosen by their first cell
# A document of the guide runs in a folder with the tour's model and measurements, any other in the checkout. A pipe or a
# second command may follow. With --check nothing is written, and the exit code is 1 if a document would change: ctest
# does that. Without ONNX_TAG (and without build/onnx-tag) only tables are filled in.
set -euo pipefail
cd "$(dirname "$0")/.."
check=
if [ "${1:-}" = --check ]; then
  check=1
  shift
fi
tool=$(realpath -m "${1:-build/onnx-tag}")
[ -x "$tool" ] || tool=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/guide" "$work/bin"
cp tests/models/bert_tiny/model.onnx tests/tour/error.tsv tests/tour/profile.json "$work/guide/"
[ -z "$tool" ] || ln -s "$tool" "$work/bin/onnx-tag"
export PATH="$work/bin:$PATH"

# table FILE [rows=REGEX] [columns=A,B]: Markdown of a TSV file; a column of numbers is aligned to the right.
table() {
  local file=docs/$1 rows='' columns='' word
  shift
  for word; do
    case $word in
      rows=*) rows=${word#rows=} ;;
      columns=*) columns=${word#columns=} ;;
      *) echo "update-docs.sh: unknown word in a table: $word" >&2 && return 1 ;;
    esac
  done
  awk -F '\t' -v rows="$rows" -v columns="$columns" '
    NR == 1 {
      n = split(columns, wanted, ",")
      if (n == 0) for (n = 0; n < NF; ) { ++n; at[n] = n; wanted[n] = $n }
      else for (i = 1; i <= n; ++i) for (j = 1; j <= NF; ++j) { gsub(/_/, " ", wanted[i]); if ($j == wanted[i]) at[i] = j }
      for (i = 1; i <= n; ++i) { if (!at[i]) { print "no column " wanted[i] > "/dev/stderr"; exit 1 } number[i] = 1 }
      next
    }
    rows == "" || $1 ~ ("^(" rows ")$") {
      ++kept
      for (i = 1; i <= n; ++i) { cell[kept, i] = $(at[i]); if ($(at[i]) !~ /^(-|–)?[0-9.,]*( %)?$/) number[i] = 0 }
    }
    END {
      if (!kept) { print "no row fits " rows > "/dev/stderr"; exit 1 }
      line = "|"; for (i = 1; i <= n; ++i) line = line " " wanted[i] " |"; print line
      line = "|"; for (i = 1; i <= n; ++i) line = line (number[i] ? "---:|" : "---|"); print line
      for (k = 1; k <= kept; ++k) { line = "|"; for (i = 1; i <= n; ++i) line = line " " cell[k, i] " |"; print line }
    }' "$file"
}

# refresh DOCUMENT
refresh() {
  local line words filter opening folder=. skip=''
  case $1 in docs/guide/*) folder=$work/guide ;; esac
  while IFS= read -r line; do
    case $skip in
      block) [ "$line" = '```' ] || continue ;;
      table) case $line in '|'*) continue ;; esac ;;
    esac
    skip=
    printf '%s\n' "$line"
    case $line in
      '<!-- table: '*' -->')
        words=${line#<!-- table: }
        # shellcheck disable=SC2086  # words
        table ${words% -->} || { echo "update-docs.sh: $1: $line" >&2; return 1; }
        skip=table
        ;;
      '<!-- runs: '*' -->')
        [ -n "$tool" ] || continue
        words=${line#<!-- runs: }
        words=${words% -->}
        filter=cat
        case $words in *' ## '*) filter=${words#* ## } words=${words% ## *} ;; esac
        IFS= read -r opening
        printf '%s\n$ onnx-tag %s\n' "$opening" "$words"
        # The documents are ours, and quote as a shell does.
        (cd "$folder" && eval "onnx-tag $words" 2>"$work/error" </dev/null | eval "$filter") || {
          echo "update-docs.sh: $1: onnx-tag $words: $(cat "$work/error")" >&2
          return 1
        }
        skip=block
        ;;
    esac
  done <"$1" >"$work/fresh"
  if [ -z "$check" ]; then
    cmp -s "$work/fresh" "$1" || cat "$work/fresh" >"$1"
  elif ! diff -u "$1" "$work/fresh"; then
    echo "$1 is not up to date; run scripts/update-docs.sh" >&2
    return 1
  fi
}

find docs -name '*.md' | LC_ALL=C sort >"$work/pages"
failed=0
for page in README.md $(cat "$work/pages"); do
  grep -q -e '^<!-- runs: ' -e '^<!-- table: ' "$page" || continue
  refresh "$page" || failed=1
done
exit $failed
