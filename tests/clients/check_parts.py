#!/usr/bin/env python3
"""Renamed, tapped, extracted and split models: valid for ONNX's checker, equal in result under ONNX Runtime.

    check_parts.py BINARY MODEL.onnx INPUTS.npz ...
    check_parts.py BINARY --models DIR
    check_parts.py BINARY --graphs COUNT DIR...

With --models: each DIR/*/model.onnx, on random inputs, and what ONNX Runtime's dynamic quantizer makes of it.
With --graphs: COUNT of the files below the folders, of as many families as there are, whose weights may be missing: they get
random ones, inside the file and in a file beside it. Files that ONNX Runtime does not run as they are, are left out.

For each model: all modules tapped, the whole results and
each new output compared; each module of up to three levels extracted and run on what the whole model feeds it; the model
split at modules and by cost, and the parts run in turn. Prints a line a model. Exit 1 where anything differs.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import quantize_dynamic

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools/models"))
from feeds import random_feeds


def session(path: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def is_valid(path: str) -> bool:
    try:
        onnx.checker.check_model(path, full_check=False)
    except onnx.checker.ValidationError:
        return False
    return True


def run(path: str, values: dict[str, np.ndarray], valid: bool = True) -> dict[str, np.ndarray]:
    if valid:
        onnx.checker.check_model(path, full_check=False)
    made = session(path)
    names = [output.name for output in made.get_outputs()]
    return dict(zip(names, made.run(names, {i.name: values[i.name] for i in made.get_inputs()})))


def same(a: object, b: object) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class Checker:
    def __init__(self, binary: str, model: str, inputs: dict[str, np.ndarray], folder: str) -> None:
        self.binary, self.model, self.inputs, self.folder = binary, model, inputs, folder
        self.valid = is_valid(model)            # a float16 converter leaves nodes in a wrong order
        self.problems: list[str] = []
        self.counts = {"taps": 0, "extracted": 0, "splits": 0, "refused": 0}

    def tool(self, *words: str) -> tuple[int, dict, str]:
        done = subprocess.run([self.binary, *words, "--json"], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else {}, done.stderr

    def check(self) -> None:
        whole = run(self.model, self.inputs, self.valid)
        tapped = os.path.join(self.folder, "tapped.onnx")
        code, said, err = self.tool("tap", self.model, "--module", "**", "-o", tapped, "--data", "copy", "--force")
        if code != 0:
            self.problems.append(f"tap: exit {code}: {err[-200:]}")
            return
        results = run(tapped, self.inputs, self.valid)
        for name, value in whole.items():
            if not same(value, results[name]):
                self.problems.append(f"tap changes {name}")
        self.counts["taps"] = sum(tap["new"] for tap in said["taps"])
        # What each value of the graph is, by its own name.
        values = dict(self.inputs)
        values.update(whole)
        everything = os.path.join(self.folder, "everything.onnx")
        values.update(self.all_values(everything))
        for tap in said["taps"]:
            if tap["value"] in values and not same(values[tap["value"]], results[tap["output"]]):
                self.problems.append(f"tap {tap['output']} is not {tap['value']}")
        modules = sorted({tap["module"] for tap in said["taps"]})
        for module in [m for m in modules if m.count(".") < 3][:12]:
            self.extract(module, values)
        at = [m for m in modules if m.rpartition(".")[2].isdigit()] or modules
        for chosen in (at[len(at) // 2:len(at) // 2 + 1], at[1:3]):
            if chosen:
                self.split(["--at", *chosen], whole)
        for measure in ("weights", "flops", "memory"):
            self.split(["--parts", "3", "--by", measure], whole)

    def all_values(self, path: str) -> dict[str, np.ndarray]:
        model = onnx.load(self.model)
        have = {output.name for output in model.graph.output}
        for node in model.graph.node:
            for output in node.output:
                if output and output not in have:
                    model.graph.output.append(onnx.ValueInfoProto(name=output))
        onnx.save(model, path)
        made = session(path)
        names = [output.name for output in made.get_outputs()]
        return dict(zip(names, made.run(names, {i.name: self.inputs[i.name] for i in made.get_inputs()})))

    def extract(self, module: str, values: dict[str, np.ndarray]) -> None:
        path = os.path.join(self.folder, "part.onnx")
        code, said, err = self.tool("extract", self.model, "--module", module, "-o", path, "--data", "copy", "--force")
        if code != 0:
            self.counts["refused"] += 1
            if code != 1:
                self.problems.append(f"extract {module}: exit {code}: {err[-200:]}")
            return
        try:
            results = run(path, values, self.valid)
        except Exception as error:
            self.problems.append(f"extract {module}: {str(error)[:200]}")
            return
        self.counts["extracted"] += 1
        for name, value in results.items():
            if name in values and not same(value, values[name]):
                self.problems.append(f"extract {module}: {name} differs")

    def split(self, how: list[str], whole: dict[str, np.ndarray]) -> None:
        folder = os.path.join(self.folder, "parts")
        code, said, err = self.tool("split", self.model, *how, "--out-dir", folder, "--data", "copy", "--force")
        if code != 0:
            self.counts["refused"] += 1
            if code not in (1, 2):
                self.problems.append(f"split {how}: exit {code}: {err[-200:]}")
            return
        values = dict(self.inputs)
        try:
            for part in said["parts"]:
                values.update(run(part["output"], values, self.valid))
        except Exception as error:
            self.problems.append(f"split {how}: {str(error)[:200]}")
            return
        self.counts["splits"] += 1
        for name, value in whole.items():
            if not same(value, values[name]):
                self.problems.append(f"split {how}: {name} differs")


def check(binary: str, model: str, inputs: dict[str, np.ndarray]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(binary, model, inputs, folder)
        try:
            checker.check()
        except Exception as error:                          # whatever a client throws is its answer
            checker.problems.append(f"{type(error).__name__}: {str(error)[:300]}")
    print("FAIL" if checker.problems else "ok  ", model, checker.counts, *checker.problems[:4], flush=True)
    return not checker.problems


def quantized(model: pathlib.Path, folder: str) -> pathlib.Path | None:
    """What the dynamic quantizer makes of it; None where it finds nothing to do."""
    path = pathlib.Path(folder) / f"{model.parent.name}-quantized.onnx"
    try:
        quantize_dynamic(model, path)
        ops = {node.op_type for node in onnx.load(path).graph.node}
        session(str(path))
    except Exception:                                       # the quantizer takes no functions and few subgraphs
        return None
    return path if ops & {"MatMulInteger", "ConvInteger", "DynamicQuantizeLSTM"} else None


def fill(graph: onnx.GraphProto, rng: np.random.Generator) -> None:
    """Random numbers for weights whose data are missing."""
    for tensor in graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
        elif tensor.ByteSize() > 64 + len(tensor.name) + 11 * len(tensor.dims) or 0 in tensor.dims or (
                tensor.raw_data or tensor.float_data or tensor.int32_data or tensor.int64_data or tensor.double_data):
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if np.issubdtype(kind, np.floating):
            data = rng.standard_normal(list(tensor.dims)) * 0.1
            data = np.abs(data) + 0.01 if "scale" in tensor.name or "var" in tensor.name else data
        else:
            data = rng.integers(0, 2, list(tensor.dims))
        tensor.CopyFrom(onnx.numpy_helper.from_array(data.astype(kind), tensor.name))
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                fill(inner, rng)


def families(folders: list[str]) -> list[pathlib.Path]:
    """All files, one of each folder after the other, each time of another form."""
    by_folder: dict[pathlib.Path, list[pathlib.Path]] = {}
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*.onnx")):
            by_folder.setdefault(path.parent, []).append(path)
    queues = [paths[i % len(paths):] + paths[:i % len(paths)] for i, paths in enumerate(by_folder.values())]
    longest = max(map(len, queues), default=0)
    return [queue[i] for i in range(longest) for queue in queues if i < len(queue)]


def check_graphs(binary: str, count: int, folders: list[str]) -> list[bool]:
    done: list[bool] = []
    unfit = 0
    for path in families(folders):
        if len(done) == 2 * count:
            break
        with tempfile.TemporaryDirectory() as folder:
            inside = os.path.join(folder, "-".join(path.with_suffix("").parts[-2:]) + ".onnx")
            outside = os.path.join(folder, "external", os.path.basename(inside))
            try:
                model = onnx.load(path, load_external_data=False)
                fill(model.graph, np.random.default_rng(0))
                onnx.save(model, inside)
                feeds = random_feeds(session(inside))
                run(inside, feeds, False)
            except Exception:                               # not a model that runs: whatever its own fault is
                unfit += 1
                continue
            os.mkdir(os.path.dirname(outside))
            onnx.save(model, outside, save_as_external_data=True, location="weights.data", size_threshold=200)
            done += [check(binary, form, feeds) for form in (inside, outside)]
    print(f"{len(done) // 2} models, inside and outside; {unfit} files do not run as they are")
    return done


def main() -> int:
    binary, *words = sys.argv[1:]
    done: list[bool] = []
    if words[0] == "--models":
        for model in sorted(pathlib.Path(words[1]).glob("*/model.onnx")):
            done.append(check(binary, str(model), random_feeds(session(str(model)))))
            with tempfile.TemporaryDirectory() as folder:
                if path := quantized(model, folder):
                    done.append(check(binary, str(path), random_feeds(session(str(path)))))
    elif words[0] == "--graphs":
        done = check_graphs(binary, int(words[1]), words[2:])
    else:
        for model_path, inputs in zip(words[::2], words[1::2]):
            made = session(model_path)
            done.append(check(binary, model_path, {**random_feeds(made), **dict(np.load(inputs))}))
    print(f"{sum(done)} of {len(done)} models pass")
    return 0 if done and all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
