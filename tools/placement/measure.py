#!/usr/bin/env python3
"""Scores a program on files with known truth: per cent exact, known and wrong, by form and by field, and how often each level is right.

    measure.py --tool build/onnx-tag FOLDER... [--beside OTHER_PROGRAM] [--form FORM]... [--args='--no-recipes'] [--only NAMES]

FOLDER has <model>/<form>.onnx with .truth.tsv beside it. `exact`: the module, or one that is accepted as well; `known`: this, or the
deepest module with a spelled parameter around it; `wrong`: neither it nor a module around it.
"""
from __future__ import annotations

import argparse
import collections
import csv
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Dict, List, Set, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

import onnx  # noqa: E402

from placement.dump import prefixes, read_truth, truth_path  # noqa: E402
from placement.judge import LOST, QUANTIZED, Tally, judge  # noqa: E402

ATOM = re.compile(r"^[A-Za-z_]\w*$|^\d+$")
LEVELS = ("certain", "high", "medium", "low")


def spelled_modules(path: str) -> Set[str]:
    """Every module that the name of a parameter spells, and the root."""
    found = {""}
    for tensor in onnx.load(path, load_external_data=False).graph.initializer:
        atoms = tensor.name.split(".")
        if len(atoms) > 1 and "/" not in tensor.name and "::" not in tensor.name and all(ATOM.match(a) for a in atoms):
            found.update(prefixes(".".join(atoms[:-1])))
    return found


def said_of(tool: str, path: str, words: List[str]) -> Dict[int, Tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "s.json")
        subprocess.run([tool, "tag", path, "--sidecar-only", "--sidecar", target, *words], capture_output=True)
        if not os.path.exists(target):
            return {}
        with open(target, encoding="utf-8") as text:
            return {n["index"]: (n.get("module") or "", n.get("confidence") or "none") for n in json.load(text)["nodes"] if not n.get("graph")}


def fields() -> Dict[str, str]:
    with open(pathlib.Path(__file__).with_name("models.tsv"), encoding="utf-8") as lines:
        return {row["name"]: row["field"] for row in csv.DictReader(lines, delimiter="\t")}


def score(path: str, tools: List[str], words: List[str]) -> List[List[Tuple[Tuple[bool, bool, bool], str]]]:
    truth, spelled = read_truth(truth_path(path)), spelled_modules(path)
    result = []
    for tool in tools:
        said = said_of(tool, path, words)
        result.append([(judge(said.get(i, ("", ""))[0], accepted, spelled), said.get(i, ("", "none"))[1]) for i, (_, accepted) in truth.items()])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--beside", action="append", default=[], help="another program; may be given again")
    parser.add_argument("--form", action="append")
    parser.add_argument("--args", default="", help="more options for the programs")
    parser.add_argument("--only", default="", help="names of models, separated by commas; or `test`: the third that is never trained on")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    tools, by_name = [args.tool, *args.beside], fields()
    only = set(filter(None, args.only.split(",")))
    if args.only == "test":
        from placement.nets import MODELS, is_test
        only = {name for name in MODELS if is_test(name)}
    for folder in args.folders:
        wanted = set(args.form or LOST + QUANTIZED)
        paths = [p for p in sorted(glob.glob(f"{folder}/*/*.onnx")) if os.path.basename(p)[:-5] in wanted
                 and (not only or os.path.basename(os.path.dirname(p)) in only) and os.path.exists(truth_path(p))]
        tables: Dict[Tuple[str, str], List[Tally]] = collections.defaultdict(lambda: [Tally() for _ in tools])
        levels: Dict[str, List[List[int]]] = collections.defaultdict(lambda: [[0, 0] for _ in tools])
        with ThreadPoolExecutor(args.jobs) as pool:
            for path, result in zip(paths, pool.map(lambda p: score(p, tools, args.args.split()), paths)):
                form, model = os.path.basename(path)[:-5], os.path.basename(os.path.dirname(path))
                keys = [("form", form), ("all", "lost" if form in LOST else "quantized" if form in QUANTIZED else "others")]
                keys += [("field", by_name[model])] if model in by_name and form in LOST else []
                for k, verdicts in enumerate(result):
                    for verdict, level in verdicts:
                        for key in keys:
                            tables[key][k].add(verdict)
                        levels[level][k][0] += 1
                        levels[level][k][1] += verdict[1]
        print(f"{folder}: exact / known / wrong of rows, {' | '.join(tools)}")
        for key in sorted(tables):
            print(f"  {key[0]:6} {key[1]:16}", "  |  ".join(str(t) for t in tables[key]))
        for level in (*LEVELS, *sorted(set(levels) - set(LEVELS))):
            if level in levels:
                print(f"  level  {level:16}", "  |  ".join(f"{100 * r / max(n, 1):5.1f} right of {n}" for n, r in levels[level]))


if __name__ == "__main__":
    main()
