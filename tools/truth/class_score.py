#!/usr/bin/env python3
"""Measures the classes of modules: how many are right, by variant and by the confidence that the program gives them.

  tools/truth/class_score.py --tool build/onnx-tag --truth DIR [--worst N] [--variant V]

DIR has MODEL/VARIANT.onnx beside MODEL/VARIANT.truth.tsv. The true classes are those of the column `classes`, or, where it
is empty, those of MODEL/recording.json. A module counts once per file, if some node of the truth is in it.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import pathlib
import subprocess
import tempfile
from typing import Dict, List, Tuple

LEVELS = ("certain", "high", "medium", "low")


def true_classes(model: pathlib.Path) -> Dict[str, str]:
    classes: Dict[str, str] = {}
    for name in ("hierarchy.json", "recording.json"):
        if (model.parent / name).exists():
            for path, module in json.loads((model.parent / name).read_text())["modules"].items():
                classes[path] = module if isinstance(module, str) else module["class"]
    with open(model.with_suffix(".truth.tsv"), newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE):
            names = row["classes"].split("/") if row.get("classes") else []
            parts = row["module"].split(".") if row["module"] else []
            if len(names) == len(parts) + 1:
                for depth, name in enumerate(names):
                    classes[".".join(parts[:depth])] = name
    return classes


def judge(job: Tuple[str, pathlib.Path, List[str]]) -> List[Tuple[str, str, str, str, str, int]]:
    """One row a module: model, path, level, the class that the program gives, the true class, alternatives."""
    tool, model, arguments = job
    truth = true_classes(model)
    with tempfile.TemporaryDirectory() as folder:
        sidecar = pathlib.Path(folder) / "sidecar.json"
        done = subprocess.run([tool, "tag", str(model), "--sidecar", str(sidecar), "--sidecar-only", "--quiet", "--force", *arguments],
                              capture_output=True, check=False)
        if not sidecar.exists():
            raise SystemExit(f"{model}: {done.stderr.decode()}")
        document = json.loads(sidecar.read_text(encoding="utf-8"))
    rows = []
    for module in document["modules"]:
        path = module["path"]
        if path in truth and module.get("class") and truth[path]:
            rows.append((f"{model.parent.name}/{model.stem}", path, module.get("class_confidence") or "none",
                         module["class"], truth[path], len(module.get("candidates", []))))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    parser.add_argument("--truth", required=True, type=pathlib.Path)
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--variant")
    parser.add_argument("--args", default="")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    models = sorted(truth.with_name(truth.name.replace(".truth.tsv", ".onnx"))
                    for truth in options.truth.glob("*/*.truth.tsv"))
    if options.variant:
        models = [model for model in models if model.stem == options.variant]
    count: Dict[str, Dict[str, List[int]]] = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    wrong: Dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    jobs = [(options.tool, model, options.args.split()) for model in models]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for model, rows in zip(models, pool.map(judge, jobs)):
            for name, path, level, given, true, others in rows:
                right = given == true
                for row in (model.stem, f"{min(others, 3)} alternatives", "all"):
                    count[row][level][0] += right
                    count[row][level][1] += 1
                if not right:
                    wrong[level][(name.split("/")[0], given, true)] += 1
    print(f"{'variant':24}" + "".join(f"{level:>20}" for level in LEVELS))
    for row in sorted(count, key=lambda name: (name == "all", name)):
        cells = []
        for level in LEVELS:
            right, total = count[row][level]
            cells.append(f"{100 * right / total:8.2f} of {total:6d}" if total else "-")
        print(f"{row:24}" + "".join(f"{cell:>20}" for cell in cells))
    for level in LEVELS:
        for (name, given, true), times in wrong[level].most_common(options.worst):
            print(f"{level:8} {times:5d} {name}: {given}, really {true}")


if __name__ == "__main__":
    main()
