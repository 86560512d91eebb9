#!/usr/bin/env python3
"""Reference runs and comparisons, held against truth.

    PYTHONPATH=python python tests/clients/check_compare.py BINARY WORK_DIR [--model NAME]... [--form NAME]...
        [--exporter NAME]...

For each model and each form in which it is deployed (float, dynamic int8, QDQ, operators on integers, float16):

- A reference is recorded from the PyTorch model; comparisons run in a Python that cannot import torch.
- The intact model passes, and no module shows an SQNR below the true one by more than 0.5 dB. The truth is found
  without tags: the values of the float file that equal what the PyTorch module returned, looked up by their names in
  the deployed file, dequantized with its own scales, and compared with the PyTorch tensors.
- With one damaged weight, the damaged module is the first out of tolerance, and the one that adds most.

One line for each model and form; exit 1 if one of these does not hold.
"""
from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import pathlib
import subprocess
import sys
from typing import Any, Dict, Iterator, List, Tuple

import compare_models
import numpy as np
import onnx
import onnxruntime as ort
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SLACK = 0.5                                                 # dB


# ---------------------------------------------------------------- truth
def values(path: pathlib.Path, inputs: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
    """Every value of the main graph, initializers included, as ONNX Runtime computes it without optimizing."""
    model = onnx.load(path)
    known = {output.name for output in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name]
    for name in names:
        if name not in known:
            model.graph.output.add().name = name
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {value.name: inputs[value.name] for value in session.get_inputs()}
    found = dict(zip(names, session.run(names, feed)))
    found.update((tensor.name, onnx.numpy_helper.to_array(tensor)) for tensor in model.graph.initializer)
    return {name: array for name, array in found.items() if isinstance(array, np.ndarray)}


def returned(example: compare_models.Example) -> Dict[str, List[np.ndarray]]:
    """What each module of the PyTorch model returns, call by call."""
    result: Dict[str, List[np.ndarray]] = {}
    hooks = []
    for name, module in example.model.named_modules():
        def hook(_: Any, args: Any, output: Any, name: str = name) -> None:
            several = output.values() if hasattr(output, "keys") else output
            for tensor in [output] if isinstance(output, torch.Tensor) else several:
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                    result.setdefault(name, []).append(tensor.detach().numpy().copy())
        hooks.append(module.register_forward_hook(hook))
    with torch.no_grad():
        example.model(**example.inputs)
    for handle in hooks:
        handle.remove()
    return result


def sqnr(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(np.float64).reshape(-1), b.astype(np.float64).reshape(-1)
    numbers = np.isfinite(a) & (a > -1e30)
    signal, noise = float((a[numbers] ** 2).sum()), float(((a - b)[numbers] ** 2).sum())
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else -math.inf


def forms_of(name: str, found: Dict[str, np.ndarray]) -> Iterator[np.ndarray]:
    """A value of the float file in a deployed one, as the quantizer of ONNX Runtime names it."""
    for key in (name, name + "_DequantizeLinear_Output"):
        if key in found and found[key].dtype.kind == "f":
            yield found[key]
    if name + "_quantized" in found and name + "_scale" in found:
        zero = found.get(name + "_zero_point", np.zeros(1, np.int32))
        yield (found[name + "_quantized"].astype(np.float64) - zero.astype(np.float64)) * found[name + "_scale"]


def true_sqnr(outputs: List[np.ndarray], plain: Dict[str, np.ndarray], found: Dict[str, np.ndarray]) -> float:
    """The highest that any value equal to the module's output has; NaN if the deployed file has none.

    Several outputs of a module are summed up, as compare does it.
    """
    signal = noise = 0.0
    for output in outputs:
        scale = float(np.abs(output[np.isfinite(output)]).max(initial=0))
        best = math.nan
        for name, array in plain.items():
            if array.shape == output.shape and array.dtype.kind == "f" and np.allclose(
                    array, output, rtol=1e-4, atol=1e-4 * scale):
                for value in forms_of(name, found):
                    if value.size == output.size:
                        figure = sqnr(output, value)
                        best = figure if math.isnan(best) else max(best, figure)
        if math.isnan(best):
            return math.nan
        power = float((output.astype(np.float64)[np.isfinite(output) & (output > -1e30)] ** 2).sum())
        signal += power
        noise += power * 10 ** (-best / 10)
    return math.inf if noise == 0 else 10 * math.log10(signal / noise) if signal else math.nan


# ---------------------------------------------------------------- the companion
class Companion:
    def __init__(self, binary: str, work: pathlib.Path) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.work = work
        blocked = work / "without_torch"
        blocked.mkdir(exist_ok=True)
        (blocked / "torch.py").write_text("raise ImportError('this Python has no torch')\n")
        path = [str(ROOT / "python"), str(ROOT / "tests/clients")]
        self.environment = {**os.environ, "ONNX_TAG_PROGRAM": binary, "PYTHONPATH": os.pathsep.join(path)}
        self.without_torch = {**self.environment, "PYTHONPATH": os.pathsep.join([str(blocked), *path])}

    def reference(self, name: str) -> str:
        path = self.work / f"{name}.ref"
        subprocess.run([sys.executable, "-m", "onnx_tag", "reference", f"compare_models:build_{name}", "-o", str(path),
                        "--tensors"], env=self.environment, check=True, stdout=subprocess.DEVNULL)
        return str(path)

    def compare(self, a: str, b: pathlib.Path) -> Dict[str, Any]:
        done = subprocess.run([sys.executable, "-m", "onnx_tag", "compare", a, str(b), "--json"],
                              env=self.without_torch, check=False, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{b}: exit {done.returncode}: {done.stderr}")
        result: Dict[str, Any] = json.loads(done.stdout)
        assert result["equal"] == (done.returncode == 0)
        return result


# ---------------------------------------------------------------- checks
@dataclasses.dataclass
class Figures:
    """Of one form of a model, or of several models."""
    files: int = 0
    modules: int = 0
    lowest: float = math.inf                                # dB
    known: int = 0                                          # modules whose true SQNR is known
    most: float = 0.0                                       # dB by which the truth is above what was shown
    hits: int = 0
    damaged: int = 0

    def add(self, other: "Figures") -> None:
        for name in ("files", "modules", "known", "hits", "damaged"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.lowest, self.most = min(self.lowest, other.lowest), max(self.most, other.most)

    def __str__(self) -> str:
        return (f"{self.modules:4} modules  lowest {self.lowest:6.1f} dB  true SQNR known for {self.known:3}, above "
                f"the one shown by at most {self.most:4.2f} dB  damaged module first {self.hits} of {self.damaged}")


def check(name: str, exporter: str, forms: Tuple[str, ...], companion: Companion
          ) -> Tuple[Dict[str, Figures], List[str]]:
    """The figures of a model by form, and what does not hold."""
    example = compare_models.make(name)
    inputs = compare_models.arrays(example.inputs)
    folder = companion.work / exporter / name
    dynamo = exporter == "dynamo"
    intact = compare_models.deployed(example.model, example.inputs, folder / "intact", forms, dynamo)
    damaged = {where: compare_models.deployed(compare_models.damage(example.model, where), example.inputs,
                                              folder / f"damaged-{place}", forms, dynamo)
               for place, where in enumerate(example.damaged)}
    reference = companion.reference(name)
    modules, plain = returned(example), values(folder / "intact" / "model.onnx", inputs)
    figures: Dict[str, Figures] = {}
    wrong: List[str] = []
    for form in forms:
        said = companion.compare(reference, intact[form])
        if not said["equal"]:
            wrong.append(f"{name} {exporter} {form}: the intact model is out of tolerance at {said['first']!r}")
        found = values(intact[form], inputs)
        shown = {row["module"]: math.inf if row["sqnr_db"] is None else row["sqnr_db"] for row in said["modules"]}
        known, most = 0, 0.0
        for module, figure in shown.items():
            if form == "float" or not modules.get(module):
                continue
            truth = true_sqnr(modules[module], plain, found)
            if math.isnan(truth):
                continue
            known += 1
            most = max(most, truth - figure)
            if figure < truth - SLACK:
                wrong.append(f"{name} {exporter} {form}: {module} shows {figure:.1f} dB, the truth is {truth:.1f}")
        hits = 0
        for where, files in damaged.items():
            said = companion.compare(reference, files[form])
            hits += said["first"] == where and said["worst"][:1] == [where]
            if said["first"] != where or said["worst"][:1] != [where]:
                wrong.append(f"{name} {exporter} {form}: {where} is damaged; first {said['first']!r}, adds most "
                             f"{said['worst'][:1]}")
        figures[form] = Figures(1, len(shown), min(shown.values()), known, most, hits, len(damaged))
    return figures, wrong


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--model", action="append", choices=compare_models.MODELS)
    parser.add_argument("--form", action="append", choices=compare_models.FORMS)
    parser.add_argument("--exporter", action="append", choices=("torchscript", "dynamo"))
    options = parser.parse_args()
    companion = Companion(os.path.abspath(options.binary), options.work.resolve())
    forms = tuple(options.form or ("float", "dynamic", "qdq", "half"))
    failures: List[str] = []
    totals = {form: Figures() for form in forms}
    for exporter in options.exporter or ("torchscript", "dynamo"):
        for name in options.model or compare_models.MODELS:
            figures, wrong = check(name, exporter, forms, companion)
            for form, found in figures.items():
                totals[form].add(found)
                print(f"{name:8} {exporter:11} {form:8} {found}")
            print("".join(f"  WRONG {text}\n" for text in wrong), end="", flush=True)
            failures += wrong
    for form, found in totals.items():
        print(f"{found.files:3} files of form {form:8} {found}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
