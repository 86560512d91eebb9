"""Compares every inferred shape with the shape that ONNX Runtime computes.

    python tools/checks/check_shapes.py build/shapes MODELS [--peer] [NAME...]

MODELS is a folder of tools/models/size_models.py. Each model runs twice, with different numbers for its dimensions and all
values of the main graph as outputs. `build/shapes` evaluates its formulas for the same numbers. A value counts as
equal, as unknown (no rule, or it depends on data), or as different; one that differs fails the check.
`--peer` also counts the values whose shapes onnxruntime's symbolic_shape_infer knows.
`--each` takes a folder of folders instead, such as the truth files, and of each folder the first file with named dimensions that
runs; missing weights become zeros. `--all` takes all files with named dimensions that run, and counts them by kind: with
If, Loop or Scan, with functions, with operators of ONNX Runtime, quantized, in float16.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from collections import Counter
from typing import Dict, List, Optional, Tuple

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from models.feeds import TYPES, fill_weights
from models.library_setup import Late, limit


def with_all_outputs(model: onnx.ModelProto) -> Tuple[bytes, List[str]]:
    """Values that no node makes, or that are outputs already, stay as they are."""
    there = {output.name for output in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name]
    for name in names:
        if name not in there:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
            there.add(name)
    return model.SerializeToString(), list(dict.fromkeys(names))


def feeds_for(session: onnxruntime.InferenceSession, numbers: Dict[str, int], seed: int) -> Dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    feeds = {}
    for value in session.get_inputs():
        shape = [axis if isinstance(axis, int) else numbers[axis or f"{value.name}[{i}]"]
                 for i, axis in enumerate(value.shape)]
        kind = TYPES[value.type]
        if np.issubdtype(kind, np.floating):
            data = rng.standard_normal(shape)
        elif "mask" in value.name:
            data = np.ones(shape)
        else:
            data = rng.integers(0, 2, shape) if shape else np.array(2)
        feeds[value.name] = np.asarray(data).astype(kind)
    return feeds


def ours(program: str, path: pathlib.Path, numbers: Dict[str, int]) -> Dict[str, Tuple[str, str]]:
    """The shape of each value with these numbers, and its formula."""
    words = [f"{name}={number}" for name, number in numbers.items()]
    text = subprocess.run([program, str(path), *words], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in text.splitlines()]
    return {row[0]: (row[2], row[3]) for row in rows}


def names_of(model: onnx.ModelProto) -> List[Tuple[str, str, int]]:
    """(name of the dimension, input, axis) of each dimension of an input that is no number."""
    weights = {weight.name for weight in model.graph.initializer}
    return [(dim.dim_param or f"{value.name}[{axis}]", value.name, axis) for value in model.graph.input
            if value.name not in weights for axis, dim in enumerate(value.type.tensor_type.shape.dim)
            if not dim.HasField("dim_value")]


def numbers_for(model: onnx.ModelProto, notes: Dict[str, object], choice: int) -> Dict[str, int]:
    """An exporter may rename dimensions; the axis tells which one is meant."""
    numbers: Dict[str, int] = {}
    for name, value, axis in names_of(model):
        word = notes["axes"].get(value, {}).get(str(axis), name)
        # torch 2.6 writes the sizes of its example as names.
        numbers[name] = int(name) if name.isdigit() else notes["numbers"].get(word, [2, 3])[choice]
    # A sum in place of a name: its parts are dimensions of other inputs.
    for name in list(numbers):
        parts = [part.strip() for part in name.split("+")]
        if len(parts) > 1 and all(part in numbers for part in parts):
            numbers[name] = sum(numbers[part] for part in parts)
    if "total" in numbers and {"past", "sequence"} <= numbers.keys():
        numbers["total"] = numbers["past"] + numbers["sequence"]
    return numbers


def peer_knows(path: pathlib.Path) -> Optional[float]:
    """The share of values whose dimensions symbolic_shape_infer all knows, by number or by name."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    try:
        inferred = SymbolicShapeInference.infer_shapes(onnx.load(path), auto_merge=True, guess_output_rank=False)
    except Exception:
        return None
    known = {value.name: value.type.tensor_type for value in [*inferred.graph.value_info, *inferred.graph.output]}
    names = [name for node in onnx.load(path).graph.node for name in node.output if name]
    def complete(name: str) -> bool:
        kind = known.get(name)
        return kind is not None and kind.HasField("shape") and all(
            dim.HasField("dim_value") or (dim.dim_param and not dim.dim_param.startswith("unk__"))
            for dim in kind.shape.dim)
    return sum(map(complete, names)) / max(1, len(names))


def check(program: str, path: pathlib.Path, notes: Dict[str, object]) -> Counter:
    model = onnx.load(path)
    fill_weights(model)
    counts: Counter = Counter()
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    sizes = [numbers_for(model, notes, choice) for choice in (0, 1)]
    graph, names = with_all_outputs(model)
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    for choice, numbers in enumerate(sizes):
        try:
            results = session.run(names, feeds_for(session, numbers, choice))
        except Exception as error:
            counts["not run"] += 1
            print(f"  {path.name}: {numbers}: {str(error).splitlines()[0][:150]}")
            continue
        counts["runs"] += 1
        inferred = ours(program, path, numbers)
        for name, result in zip(names, results):
            shape, formula = inferred.get(name, ("?", "?"))
            if isinstance(result, list):
                counts["sequences"] += 1
            elif result is None:
                counts["no result"] += 1
            elif "?" in shape:
                counts["unknown" if "?" in formula else "data"] += 1
            elif shape == str(list(np.shape(result))):
                counts["equal"] += 1
            else:
                counts["different"] += 1
                if counts["different"] <= 3:
                    node = next(node for node in model.graph.node if name in node.output)
                    print(f"  {path.name}: {node.op_type} {name}: {formula} = {shape}, but {list(np.shape(result))} "
                          f"with {numbers}")
    return counts


def kinds_of(model: onnx.ModelProto) -> List[str]:
    operators = {(node.domain, node.op_type) for node in model.graph.node}
    names = {name for _, name in operators}
    functions = {(function.domain, function.name) for function in model.functions}
    return [kind for kind, holds in [
        ("If", "If" in names), ("Loop", "Loop" in names), ("Scan", "Scan" in names), ("functions", operators & functions),
        ("contrib", any(domain == "com.microsoft" for domain, _ in operators)),
        ("quantized", any("Quantize" in name or "Integer" in name or name.startswith("QLinear") for name in names)),
        ("float16", any(tensor.data_type == onnx.TensorProto.FLOAT16 for tensor in model.graph.initializer))] if holds]


def check_each(program: str, folders: List[pathlib.Path], every_file: bool) -> None:
    notes = {"axes": {}, "numbers": {"batch": [2, 3], "batch_size": [2, 3], "sequence": [7, 12], "sequence_length": [7, 12],
                                     "height": [64, 96], "width": [96, 64]}}
    total: Counter = Counter()
    by_kind: Dict[str, Counter] = {}
    for folder in folders:
        found = 0
        for path in sorted(folder.rglob("*.onnx"), reverse=True)[:None if every_file else 40]:
            try:
                model = onnx.load(path, load_external_data=False)
                if not names_of(model):
                    continue
                with limit(300):
                    counts = check(program, path, notes)
            except (Exception, Late):
                total["files that do not run"] += 1
                continue
            if counts["runs"] < 2:
                continue
            total.update(counts)
            total["files"] += 1
            found += 1
            for kind in kinds_of(model):
                by_kind.setdefault(kind, Counter()).update(files=1, equal=counts["equal"], different=counts["different"])
            print(f"{path.relative_to(folder.parent)}: {dict(counts)}", flush=True)
            if not every_file:
                break
        total["models"] += found > 0
    print(dict(total))
    for kind, counts in by_kind.items():
        print(f"  {kind}: {dict(counts)}")
    sys.exit(1 if total["different"] or not total["equal"] else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if options.each or options.all:
        folders = sorted(path for path in options.models.iterdir() if path.is_dir()) or [options.models]
        return check_each(options.program, folders, options.all)
    total: Counter = Counter()
    models = set()
    peers: List[float] = []
    for path in sorted(options.models.glob("*.onnx")):
        stem = path.name.split(".")[0]
        if options.names and stem not in options.names and path.name not in options.names:
            continue
        try:
            counts = check(options.program, path, json.loads((options.models / f"{stem}.json").read_text()))
        except Exception as error:
            print(f"  {path.name}: {type(error).__name__}: {str(error)[:200]}")
            continue
        if counts["runs"]:
            models.add(stem)
            total["files"] += 1
            total["files that ran twice"] += counts["runs"] == 2
        total.update(counts)
        line = f"{path.name}: {dict(counts)}"
        if options.peer:
            share = peer_knows(path)
            peers.append(share or 0.0)
            line += f", symbolic_shape_infer {'fails' if share is None else f'{100 * share:.1f} %'}"
        print(line, flush=True)
    print(f"{len(models)} models: {dict(total)}")
    if peers:
        print(f"symbolic_shape_infer knows {100 * sum(peers) / len(peers):.1f} % on average")
    sys.exit(1 if total["different"] or not total["equal"] else 0)


if __name__ == "__main__":
    main()
