"""Of how many nodes the shapes of the results are known, as numbers, as formulas, or not at all.

    python tools/checks/share_of_shapes.py build/shapes FOLDER... [--every 8] [--before OLD_ONNX_TAG] [--peer]

Counts the nodes of every file in the folders, and of those files whose inputs have named dimensions. `--every N` takes every N-th
file. `--before` is an older onnx-tag: its report shows the shapes that it knows. `--peer` runs onnxruntime's symbolic_shape_infer on
the same files; a dimension that it invents a name for (unk__) is unknown. A file on which it takes over 15 minutes counts as failed.
"""
from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import re
import subprocess
import tempfile
from collections import Counter
from typing import Dict, List

import onnx
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models.feeds import fill_weights
from models.library_setup import Late, limit


def after(program: str, paths: List[pathlib.Path]) -> Dict[str, Counter]:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("".join(f"{path}\n" for path in paths))
        listing.flush()
        text = subprocess.run([program, "--share", listing.name], check=True, capture_output=True, text=True).stdout
    found = {}
    for line in text.splitlines():
        words = line.split("\t")
        if words[1] == "error":
            continue
        numbers = [int(word) for word in words[1:]]
        found[words[0]] = Counter(dynamic=numbers[0], nodes=numbers[1], number=numbers[2], formula=numbers[3], data=numbers[4],
                                  unknown=numbers[5], contradictions=numbers[7])
    return found


def before(program: str, path: pathlib.Path) -> Counter:
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        subprocess.run([program, "report", str(path), "-o", str(page), "-q"], check=True, capture_output=True)
        match = re.search(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
        assert match
        data = json.loads(match[1])["models"][0]
    kinds = data["values"]["type"]
    outputs = list(itertools.accumulate(data["nodes"]["outputs"]["delta"]))
    counts, at = Counter(), 0
    for count in data["nodes"]["outputs"]["count"]:
        texts = [data["types"][kinds[value]] if 0 <= value < len(kinds) and kinds[value] >= 0 else "?"
                 for value in outputs[at:at + count] if value >= 0]
        at += count
        known = all(" " in text and "?" not in text for text in texts)
        counts["nodes"] += 1
        counts["number" if known else "unknown"] += 1
    return counts


def peer(path: pathlib.Path) -> Counter:
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    model = onnx.load(path, load_external_data=False)
    nodes = [[name for name in node.output if name] for node in model.graph.node]
    try:
        fill_weights(model)
        with limit(900):
            inferred = SymbolicShapeInference.infer_shapes(model, auto_merge=True, guess_output_rank=False)
    except (Exception, Late):
        inferred = None
    if inferred is None:
        return Counter(nodes=len(nodes), unknown=len(nodes), failed=1)
    known = {value.name: value.type.tensor_type for value in [*inferred.graph.value_info, *inferred.graph.output]}
    counts = Counter(nodes=len(nodes))
    for names in nodes:
        kinds = [known.get(name) for name in names]
        dims = [dim for kind in kinds if kind is not None for dim in kind.shape.dim]
        if any(kind is None or not kind.HasField("shape") for kind in kinds) or any(
                not dim.HasField("dim_value") and (not dim.dim_param or dim.dim_param.startswith("unk__")) for dim in dims):
            counts["unknown"] += 1
        else:
            counts["number" if all(dim.HasField("dim_value") for dim in dims) else "formula"] += 1
    return counts


def line(title: str, counts: Counter) -> str:
    nodes = max(1, counts["nodes"])
    shares = ", ".join(f"{kind} {100 * counts[kind] / nodes:.2f} %" for kind in ("number", "formula", "data", "unknown"))
    return f"  {title:<22} {counts['nodes']:>9,} nodes: {shares}" + (f", fails on {counts['failed']} files" if counts["failed"] else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--before", default="")
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    for folder in options.folders:
        paths = sorted(folder.rglob("*.onnx"))[::options.every]
        found = after(options.program, paths)
        others: Dict[str, Dict[str, Counter]] = {"after": found}
        if options.before:
            others["before"] = {}
            for path in found:
                try:
                    others["before"][path] = before(options.before, pathlib.Path(path))
                except Exception as error:
                    print(f"  {path}: {str(error)[:100]}")
        if options.peer:
            others["symbolic_shape_infer"] = {path: peer(pathlib.Path(path)) for path in found}
        for dynamic in (False, True):
            chosen = [path for path in found if found[path]["dynamic"] or not dynamic]
            print(f"{folder}: {len(chosen)} files{' with named dimensions' if dynamic else ''}", flush=True)
            for title, counts in others.items():
                print(line(title, sum((counts.get(path, Counter()) for path in chosen), Counter())), flush=True)


if __name__ == "__main__":
    main()
