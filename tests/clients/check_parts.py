"""Tapped, extracted and split models: valid for ONNX's checker, equal in result under ONNX Runtime.

    check_parts.py BINARY MODEL.onnx INPUTS.npz ...

For each model: all modules tapped, the whole results and each new output compared; each module of up to three levels
extracted and run on what the whole model feeds it; the model split at modules and the parts run in turn. Prints a line a
model. Exit 1 where anything differs.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort


def session(path: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run(path: str, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
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
        self.problems: list[str] = []
        self.counts = {"taps": 0, "extracted": 0, "splits": 0, "refused": 0}

    def tool(self, *words: str) -> tuple[int, dict, str]:
        done = subprocess.run([self.binary, *words, "--json"], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.returncode == 0 else {}, done.stderr

    def check(self) -> None:
        whole = run(self.model, self.inputs)
        tapped = os.path.join(self.folder, "tapped.onnx")
        code, said, err = self.tool("tap", self.model, "--module", "**", "-o", tapped, "--data", "copy", "--force")
        if code != 0:
            self.problems.append(f"tap: exit {code}: {err[-200:]}")
            return
        results = run(tapped, self.inputs)
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
                self.split(chosen, whole)

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
            results = run(path, values)
        except Exception as error:
            self.problems.append(f"extract {module}: {str(error)[:200]}")
            return
        self.counts["extracted"] += 1
        for name, value in results.items():
            if name in values and not same(value, values[name]):
                self.problems.append(f"extract {module}: {name} differs")

    def split(self, at: list[str], whole: dict[str, np.ndarray]) -> None:
        folder = os.path.join(self.folder, "parts")
        code, said, err = self.tool("split", self.model, "--at", *at, "--out-dir", folder, "--data", "copy", "--force")
        if code != 0:
            self.counts["refused"] += 1
            if code not in (1, 2):
                self.problems.append(f"split at {at}: exit {code}: {err[-200:]}")
            return
        values = dict(self.inputs)
        try:
            for part in said["parts"]:
                values.update(run(part["output"], values))
        except Exception as error:
            self.problems.append(f"split at {at}: {str(error)[:200]}")
            return
        self.counts["splits"] += 1
        for name, value in whole.items():
            if not same(value, values[name]):
                self.problems.append(f"split at {at}: {name} differs")


def main() -> int:
    binary, *words = sys.argv[1:]
    failed = 0
    for model, inputs in zip(words[::2], words[1::2]):
        with tempfile.TemporaryDirectory() as folder:
            checker = Checker(binary, model, dict(np.load(inputs)), folder)
            try:
                checker.check()
            except Exception as error:
                checker.problems.append(f"{type(error).__name__}: {str(error)[:300]}")
        failed += bool(checker.problems)
        print("FAIL" if checker.problems else "ok  ", model, checker.counts, *checker.problems[:4], flush=True)
    print(f"{len(words) // 2 - failed} of {len(words) // 2} models pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
