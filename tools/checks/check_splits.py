"""Checks `split --parts`: the parts run in turn give the results of the whole, and no other borders are better.

    python tools/checks/check_splits.py build/onnx-tag MODELS [--parts 3] NAME.ts...

MODELS is a folder of tools/models/size_models.py. For each model and measure the parts are written, run one after another with ONNX
Runtime, and compared with the whole model, all without optimization. Then all borders at modules are tried, with costs computed here: weights from
the initializers, FLOPs from `show --nodes`, memory and bytes across from the true sizes of all values, times from a profile of
ONNX Runtime. The largest part and the bytes across must be those that `split` printed.
"""
from __future__ import annotations

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Set, Tuple

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tools/

from checks.check_shapes import feeds_for, numbers_for, with_all_outputs

RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}


def session_of(model: Any) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_json(*words: str) -> Any:
    done = subprocess.run(words, capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-300:])
    return json.loads(done.stdout)


def reads_of(node: onnx.NodeProto) -> List[str]:
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            for inner in graph.node:
                names += reads_of(inner)
            names += [output.name for output in graph.output]
    return names


class Costs:
    """What an interval of nodes costs, by the file and by the true sizes of its values."""

    def __init__(self, program: str, path: pathlib.Path, numbers: Dict[str, int], times: Dict[int, int]) -> None:
        model = onnx.load(path)
        self.graph = model.graph
        self.weights = {tensor.name: int(np.prod(tensor.dims, dtype=np.int64)) *
                        onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
                        for tensor in self.graph.initializer}
        self.reads = [list(dict.fromkeys(reads_of(node))) for node in self.graph.node]
        self.maker = {name: i for i, node in enumerate(self.graph.node) for name in node.output if name}
        self.outputs = {value.name for value in self.graph.output}
        self.constant: List[bool] = []
        for node, reads in zip(self.graph.node, self.reads):
            self.constant.append(node.op_type not in RANDOM and all(
                name in self.weights or (name in self.maker and self.maker[name] < len(self.constant) and
                                         self.constant[self.maker[name]]) for name in reads))
        words = [word for name, number in numbers.items() for word in ("--shape", f"{name}={number}")]
        said = run_json(program, "show", str(path), "--json", "--nodes", *words)
        self.module: Dict[int, str] = {}
        self.flops = [0] * len(self.graph.node)
        self.times = [times.get(i, 0) for i in range(len(self.graph.node))]
        for module in said["modules"]:
            for node in module["node_list"]:
                place = node["index"] if node["graph"] == "" else int(node["graph"].split(":")[0])
                self.flops[place] += node["flops"] or 0
                if node["graph"] == "":
                    self.module[node["index"]] = module["path"]
        for node in said["untagged_nodes"]:
            if node["graph"] == "":
                self.flops[node["index"]] += node["flops"] or 0
        whole, names = with_all_outputs(onnx.load(path))
        session = session_of(whole)
        feeds = feeds_for(session, numbers, 0)
        self.bytes = {name: array.nbytes for name, array in feeds.items()}
        for name, value in zip(names, session.run(names, feeds)):
            self.bytes[name] = value.nbytes if isinstance(value, np.ndarray) else 0
        self.last = {name: max((i for i, reads in enumerate(self.reads) if name in reads), default=-1)
                     for name in [*self.maker, *feeds]}

    def borders(self) -> List[int]:
        begun: Set[str] = set()
        found, before = [0], False
        for i in range(len(self.graph.node)):
            if self.constant[i]:
                continue
            path = self.module.get(i)
            if path is not None:
                atoms = path.split(".") if path else []
                around = [".".join(atoms[:k]) for k in range(1, len(atoms) + 1)]
                if before and any(one not in begun for one in around):
                    found.append(i)
                begun.update(around)
            before = True
        return found

    def across(self, border: int) -> int:
        return sum(self.bytes[name] for name, maker in self.maker.items()
                   if maker < border <= self.last[name] and not self.constant[maker])

    def closure(self, first: int, last: int) -> Tuple[List[int], Set[int]]:
        own = [i for i in range(first, last) if not self.constant[i]]
        constants: Set[int] = set()
        if last == len(self.graph.node):
            constants |= {i for i, node in enumerate(self.graph.node)
                          if self.constant[i] and any(name in self.outputs for name in node.output)}
        open_ = [*own, *constants]
        while open_:
            for name in self.reads[open_.pop()]:
                maker = self.maker.get(name)
                if maker is not None and self.constant[maker] and maker not in constants:
                    constants.add(maker)
                    open_.append(maker)
        return own, constants

    def of(self, by: str, first: int, last: int) -> int:
        own, constants = self.closure(first, last)
        if by == "flops":
            return sum(self.flops[i] for i in [*own, *constants])
        if by == "time":
            return sum(self.times[i] for i in [*own, *constants])
        weights = sum(self.weights[name] for name in {name for i in [*own, *constants] for name in self.reads[i]}
                      if name in self.weights)
        if by == "weights":
            return weights
        inside = {name for i in own for name in self.graph.node[i].output if name}
        held = sum(self.bytes[name] for i in constants for name in self.graph.node[i].output if name)
        held += sum(self.bytes[name] for name in {name for i in own for name in self.reads[i]}
                    if name not in self.weights and name not in inside and
                    not (name in self.maker and self.constant[self.maker[name]]))
        live = peak = 0
        for i in own:
            live += sum(self.bytes[name] for name in self.graph.node[i].output if name)
            peak = max(peak, live)
            gone = [name for name in {*self.reads[i], *self.graph.node[i].output}
                    if name in inside and max(self.last[name], self.maker[name]) == i and name not in self.outputs]
            live -= sum(self.bytes[name] for name in gone)
        return weights + held + peak


def brute_force(costs: Costs, by: str, parts: int) -> Tuple[int, int]:
    starts = costs.borders()
    ends = len(costs.graph.node)
    known: Dict[Tuple[int, int], int] = {}

    def cost(first: int, last: int) -> int:
        if (first, last) not in known:
            known[first, last] = costs.of(by, first, last)
        return known[first, last]

    across = {start: costs.across(start) for start in starts}
    best = None
    for chosen in itertools.combinations(starts[1:], parts - 1):
        bounds = [0, *chosen, ends]
        found = (max(cost(a, b) for a, b in zip(bounds, bounds[1:])), sum(across[i] for i in chosen))
        best = found if best is None else min(best, found)
    assert best is not None
    return best


def profile_of(path: pathlib.Path, feeds: Dict[str, np.ndarray], folder: pathlib.Path) -> pathlib.Path:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    session.run(None, feeds)
    return pathlib.Path(session.end_profiling())


def times_of(profile: pathlib.Path, model: onnx.ModelProto) -> Dict[int, int]:
    places = {node.name: i for i, node in enumerate(model.graph.node)}
    times: Dict[int, int] = {}
    for event in json.loads(profile.read_text()):
        name = event.get("name", "")
        if name.endswith("_kernel_time") and name[:-12] in places:
            place = places[name[:-12]]
            times[place] = times.get(place, 0) + event["dur"]
    return times


def check(program: str, path: pathlib.Path, notes: Dict[str, Any], parts: int) -> List[str]:
    model = onnx.load(path)
    numbers = numbers_for(model, notes, 0)
    shapes = [word for name, number in numbers.items() for word in ("--shape", f"{name}={number}")]
    whole = session_of(str(path))
    feeds = feeds_for(whole, numbers, 0)
    expected = dict(zip([value.name for value in whole.get_outputs()], whole.run(None, feeds)))
    bad = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        profile = profile_of(path, feeds, folder)
        costs = Costs(program, path, numbers, times_of(profile, model))
        for by in ("weights", "flops", "memory", "time"):
            extra = ["--profile", str(profile)] if by == "time" else []
            said = run_json(program, "split", str(path), "--parts", str(parts), "--by", by, "--out-dir", str(folder / by),
                            "--json", *shapes, *extra)
            values: Dict[str, Any] = dict(feeds)
            for part in said["parts"]:
                session = session_of(part["output"])
                outputs = [value["name"] for value in part["outputs"]]
                results = session.run(outputs, {value["name"]: values[value["name"]] for value in part["inputs"]})
                values.update(zip(outputs, results))
            same = all(np.array_equal(values[key], value, equal_nan=value.dtype.kind == "f") for key, value in expected.items()
                       if isinstance(value, np.ndarray))
            printed = (max(part["cost"] for part in said["parts"]), sum(part["bytes_across"] for part in said["parts"]))
            best = brute_force(costs, by, parts)
            verdict = "ok" if same and printed == best else f"results {'equal' if same else 'DIFFER'}, best {best}"
            if verdict != "ok":
                bad.append(by)
            print(f"{path.name}\t{by}\t{len(costs.borders()) - 1} borders\tlargest {printed[0]:,}\tacross {printed[1]:,}\t{verdict}",
                  flush=True)
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--parts", type=int, default=3)
    options = parser.parse_args()
    failed = 0
    for name in options.names:
        notes = json.loads((options.models / f"{name.split('.')[0]}.json").read_text())
        try:
            failed += bool(check(options.program, options.models / f"{name}.onnx", notes, options.parts))
        except Exception as error:
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
