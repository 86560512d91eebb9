#!/usr/bin/env python3
"""Measures accuracy and writes the tables of docs/how/accuracy.md: docs/figures/accuracy-*.tsv.

    python3 tools/truth/make_accuracy_doc.py LARGER_SET [--own DIR] [--deeper DIR] [--left-out DIR] [--build build]

LARGER_SET, DEEPER and OWN are folders of models with truth, in the form of tests/truth; in OWN, each model has a
recording.json beside it. --left-out is what make_left_out.py made. Needs no packages. Tables whose folder is not given stay
as they are. Then run scripts/update-docs.sh.
"""
from __future__ import annotations

import argparse
import collections
import csv
import json
import pathlib
import re
import subprocess
import tempfile
from typing import Dict, List, Set

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIGURES = ROOT / "docs/figures"
NAMELESS = ("ts-noscope", "ts14-noscope", "ts-anon", "dyn-nometa", "dyn-slim", "dyn-ort", "gs-dyn", "vc-dyn", "ts@le1.12",
            "ts-untrained@le1.12")
COLUMNS = ("exact", "above", "wrong", "wrong layer", "certain", "high", "medium")


def run(*words: object) -> str:
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout


def rows(text: str) -> Dict[str, List[str]]:
    """By variant: exact, above, wrong, wrong layer, certain, high, medium, out of a table for people."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 10 or not re.fullmatch(r"\d+", words[1]):
            continue
        if "|" in words:  # recipes_bench: each level's share stands before what is right of it
            found[words[0]] = [*words[3:7], words[9], words[11], words[13]]
        else:
            found[words[0]] = words[4:11]
    return found


def table(head: List[str], lines: List[List[str]]) -> str:
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(out + ["| " + " | ".join(line) + " |" for line in lines])


def book_table(accuracy: pathlib.Path, folder: pathlib.Path) -> str:
    with_book = rows(run(accuracy, folder))
    without = rows(run(accuracy, folder, "--no-recipes"))
    names = [name for name in NAMELESS if name in with_book] or sorted(with_book)
    return table(["variant", "exact without the book", *COLUMNS],
                 [[f"`{name}`", without[name][0], *with_book[name]] for name in names])


def leave_out_table(bench: pathlib.Path, folder: pathlib.Path) -> str:
    lines = []
    for name in NAMELESS:
        found = rows(run(bench, folder, "--variant", name, "--leave-out"))
        if name in found:
            lines.append([f"`{name}`", *found[name]])
    return table(["variant", *COLUMNS], lines)


def left_out_table(bench: pathlib.Path, folder: pathlib.Path) -> str:
    without = rows(run(bench, folder, "--without"))
    found = rows(run(bench, folder, "--leave-out"))
    return table(["variant", "exact without the book", *COLUMNS],
                 [[f"`{name}`", without[name][0], *found[name]] for name in sorted(found) if name != "all"])


def prefixes(module: str) -> List[str]:
    atoms = module.split(".") if module else []
    return [".".join(atoms[:i]) for i in range(len(atoms) + 1)]


def spelled(nodes: List[dict]) -> Set[str]:
    """The modules that the names of nodes and values begin with."""
    found = {""}
    for node in nodes:
        for name in (node["name"], *node["inputs"], *node["outputs"]):
            found.update(prefixes((name or "").replace("/", ".").strip("."))[:-1])
    return found


def score(program: pathlib.Path, model: pathlib.Path, *options: str) -> collections.Counter:
    """How many nodes of the model get which answer."""
    with tempfile.TemporaryDirectory() as folder:
        sidecar = pathlib.Path(folder) / "tags.json"
        subprocess.run([program, "tag", model, "--quiet", "--sidecar-only", "--sidecar", sidecar, *options], check=True)
        nodes = json.loads(sidecar.read_text())["nodes"]
    # The names of found blocks are invented: they are no answers.
    modules = {(node["graph"], node["index"]): None if node["source"] == "structure" else node["module"] for node in nodes}
    named = spelled(nodes)
    count: collections.Counter = collections.Counter()
    with open(model.with_suffix("").as_posix() + ".truth.tsv", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            accepted = {row["module"], *(name.replace("<root>", "") for name in row["accept"].split("|") if name)}
            module = modules[(row["graph"], int(row["index"]))]
            deepest = {next(path for path in reversed(prefixes(name)) if path in named) for name in accepted}
            count["nodes"] += 1
            count["exact"] += module in accepted
            count["known"] += module in accepted or module in deepest
            count["wrong"] += module is not None and module not in accepted and module not in prefixes(row["module"])
    return count


def own_table(program: pathlib.Path, folder: pathlib.Path) -> str:
    """Models that no book has: from the file alone, with the module map, and with a recorded run."""
    variants = sorted({path.stem for path in folder.glob("*/*.onnx")})
    lines = []
    for variant in variants:
        counts = {}
        for facts in ("", "--hierarchy", "--trace"):
            counts[facts] = collections.Counter()
            for model in sorted(folder.glob(f"*/{variant}.onnx")):
                options = [facts, str(model.parent / "recording.json")] if facts else []
                counts[facts].update(score(program, model, *options))

        def share(facts: str, what: str) -> str:
            return f"{100 * counts[facts][what] / counts[facts]['nodes']:.1f}"

        lines.append([f"`{variant}`", str(counts[""]["nodes"]), share("", "exact"), share("", "known"), share("", "wrong"),
                      share("--hierarchy", "exact"), share("--hierarchy", "wrong"), share("--trace", "exact"),
                      share("--trace", "wrong")])
    return table(["variant", "nodes", "exact", "known", "wrong", "map: exact", "map: wrong", "trace: exact",
                  "trace: wrong"], lines)


RUNGS = ["rung", "places", "exact", "above", "wrong layer", "alone: claims", "alone: exact", "alone: above",
         "alone: wrong layer"]


def put(name: str, text: str) -> None:
    """Writes the tables of Markdown in `text`: NAME.tsv and, where there are two, NAME-rungs.tsv."""
    found: List[List[List[str]]] = [[]]
    for line in text.splitlines():  # the programs also print notes on single models
        if line.startswith("|"):
            found[-1].append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    for ending, lines in zip(("", "-rungs"), (lines for lines in found if lines)):
        head = RUNGS if ending else lines[0]
        (FIGURES / f"accuracy-{name}{ending}.tsv").write_text(
            "".join("\t".join(line) + "\n" for line in [head, *lines[2:]]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("larger", type=pathlib.Path)
    for folder in ("--own", "--deeper", "--left-out"):
        parser.add_argument(folder, type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    accuracy = args.build / "accuracy"
    put("bundled", run(accuracy, ROOT / "tests/truth", "--group", "known", "--markdown"))
    put("larger", run(accuracy, args.larger, "--markdown"))
    put("book", book_table(accuracy, args.larger))
    if args.own:
        put("own", own_table(args.build / "onnx-tag", args.own))
    if args.deeper:
        put("deeper", book_table(accuracy, args.deeper))
    put("leave-out", leave_out_table(args.build / "recipes_bench", args.larger))
    if args.left_out:
        put("left-out-recordings", left_out_table(args.build / "recipes_bench", args.left_out))


if __name__ == "__main__":
    main()
