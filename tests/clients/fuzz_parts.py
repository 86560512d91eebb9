#!/usr/bin/env python3
"""Random valid models: tapped, extracted, split and renamed ones against ONNX Runtime.

    fuzz_parts.py BINARY COUNT [FIRST_SEED]

Each seed is a graph of 5 to 40 nodes in nested modules: products, sums, norms, reshapes by computed shapes, splits, quantizers,
sequences, branches and loops that capture values, local functions, constants, outputs that are inputs or weights; shapes are
recorded, left out or only ranks; names of dimensions vary; weights are inside, outside or listed among the inputs. Every model
is checked by check_parts.py. Prints the seeds that fail; exit 1 if there are any.
"""
from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from typing import Callable, Dict, List

import numpy as np
import onnx
from check_parts import check, run, session  # also finds tools/models/feeds.py
from feeds import random_feeds
from onnx import TensorProto, helper

WIDTH = 4


class Maker:
    """A graph as it grows. All values but shapes and sequences are floats of [rows, WIDTH]."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: List[onnx.NodeProto] = []
        self.tensors: List[onnx.TensorProto] = []
        self.functions: List[onnx.FunctionProto] = []
        self.values = ["x", "x2"]
        self.module = "m.0"

    def pick(self, items: List[str]) -> str:
        return items[self.rng.integers(len(items))]

    def value(self) -> str:
        # Mostly what is near, sometimes a long way back.
        near = self.values[-6:]
        return self.pick(near if self.rng.random() < 0.8 else self.values)

    def name(self, kind: str) -> str:
        return f"{kind}_{len(self.nodes)}_{len(self.tensors)}"

    def add(self, op: str, inputs: List[str], outputs: int = 1, domain: str = "", **attributes: object) -> List[str]:
        made = [self.name(f"{op}{i}") for i in range(outputs)]
        scope = self.module.replace("|", "/")
        self.nodes.append(helper.make_node(op, inputs, made, name=f"/{scope}/{op}_{len(self.nodes)}", domain=domain,
                                           **attributes))
        return made

    def weight(self, array: np.ndarray, atom: str = "weight") -> str:
        name = f"{self.module.replace('|', '.')}.{atom}"
        if self.rng.random() < 0.3 or any(tensor.name == name for tensor in self.tensors):
            name = self.name("onnx::W")
        self.tensors.append(onnx.numpy_helper.from_array(array, name))
        return name

    def floats(self, *shape: int) -> np.ndarray:
        return (self.rng.standard_normal(shape) * 0.5).astype(np.float32)

    # ------------------------------------------------------------ steps
    def unary(self) -> str:
        return self.add(self.pick(["Relu", "Tanh", "Sigmoid", "Abs", "Softmax", "Identity"]), [self.value()])[0]

    def binary(self) -> str:
        return self.add(self.pick(["Add", "Mul", "Sub", "Max"]), [self.value(), self.value()])[0]

    def linear(self) -> str:
        out = self.add("MatMul", [self.value(), self.weight(self.floats(WIDTH, WIDTH))])[0]
        return self.add("Add", [self.weight(self.floats(WIDTH), "bias"), out])[0]

    def norm(self) -> str:
        return self.add("LayerNormalization", [self.value(), self.weight(self.floats(WIDTH)),
                                               self.weight(self.floats(WIDTH), "bias")], axis=-1)[0]

    def reshape(self) -> str:
        """There and back, by shapes that nodes compute."""
        value = self.value()
        shape = self.add("Shape", [value])[0]
        wanted = self.add("Concat", [self.weight(np.array([-1]), "shape"), self.weight(np.array([2]), "two")], axis=0)[0]
        flat = self.add("Reshape", [value, wanted])[0]
        return self.add("Reshape", [self.add("Relu", [flat])[0], shape])[0]

    def pieces(self) -> str:
        halves = self.add("Split", [self.value(), self.weight(np.array([1, WIDTH - 1]), "split")], 2, axis=1)
        return self.add("Concat", halves[::-1], axis=1)[0]

    def quantized(self) -> str:
        value, scale, zero = self.add("DynamicQuantizeLinear", [self.value()], 3)
        return self.add("DequantizeLinear", [value, scale, zero])[0]

    def sequence(self) -> str:
        listed = self.add("SequenceConstruct", [self.value(), self.value()])[0]
        self.other_module()
        return self.add("SequenceAt", [listed, self.constant(np.array(1))])[0]

    def constant(self, array: np.ndarray) -> str:
        return self.add("Constant", [], value=onnx.numpy_helper.from_array(array, ""))[0]

    def branch(self) -> str:
        value = self.value()
        total = self.add("ReduceSum", [value], keepdims=0)[0]
        flag = self.add("Greater", [total, self.constant(np.float32(0))])[0]
        captured, weight = self.value(), self.weight(self.floats(WIDTH))
        inner = self.name("inner")
        then = helper.make_graph([helper.make_node("Add", [captured, weight], [inner],
                                                   name=f"/{self.module}/then/Add")], "then", [],
                                 [helper.make_tensor_value_info(inner, 1, None)])
        other = helper.make_graph([helper.make_node("Identity", [value], [inner + "e"])], "else", [],
                                  [helper.make_tensor_value_info(inner + "e", 1, None)])
        return self.add("If", [flag], then_branch=then, else_branch=other)[0]

    def loop(self) -> str:
        captured = self.value()
        prefix = self.name("loop")
        body = helper.make_graph(
            [helper.make_node("Identity", [prefix + "go"], [prefix + "on"]),
             helper.make_node("Add", [prefix + "in", captured], [prefix + "out"])], "body",
            [helper.make_tensor_value_info(prefix + "i", TensorProto.INT64, []),
             helper.make_tensor_value_info(prefix + "go", TensorProto.BOOL, []),
             helper.make_tensor_value_info(prefix + "in", 1, None)],
            [helper.make_tensor_value_info(prefix + "on", TensorProto.BOOL, []),
             helper.make_tensor_value_info(prefix + "out", 1, None)])
        return self.add("Loop", [self.constant(np.array(2)), self.constant(np.array(True)), self.value()], body=body)[0]

    def call(self) -> str:
        if not self.functions:
            self.functions.append(helper.make_function(
                "local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])],
                [helper.make_opsetid("", 17)]))
        return self.add("Twice", [self.value()], domain="local")[0]

    def other_module(self) -> None:
        parts = [f"m.{self.rng.integers(4)}", *(["block"] if self.rng.random() < 0.5 else []),
                 *([f"fc{self.rng.integers(2)}"] if self.rng.random() < 0.5 else [])]
        self.module = "|".join(parts)

    def model(self) -> onnx.ModelProto:
        steps: Dict[Callable[[], str], int] = {
            self.unary: 6, self.binary: 5, self.linear: 5, self.norm: 2, self.reshape: 2, self.pieces: 2,
            self.quantized: 1, self.sequence: 1, self.branch: 1, self.loop: 1, self.call: 1}
        choices = [step for step, count in steps.items() for _ in range(count)]
        wanted = self.rng.integers(5, 40)
        while len(self.nodes) < wanted:
            if self.rng.random() < 0.4:
                self.other_module()
            self.values.append(choices[self.rng.integers(len(choices))]())
        rows: object = self.rng.choice(["batch", "rows", "4"])
        rows = 4 if rows == "4" else str(rows)
        inputs = [helper.make_tensor_value_info(name, 1, [rows, WIDTH]) for name in ("x", "x2")]
        ends = dict.fromkeys([self.values[-1], *self.rng.choice(self.values, 2)])
        outputs = [helper.make_tensor_value_info(str(name), 1, [rows, WIDTH]) for name in ends]
        if self.tensors and self.rng.random() < 0.1:
            tensor = self.tensors[-1]
            outputs.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
        if self.rng.random() < 0.1:                         # as old exporters list weights
            inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in self.tensors]
        graph = helper.make_graph(self.nodes, "random", inputs, outputs, self.tensors)
        model = helper.make_model(graph, functions=self.functions, ir_version=8, producer_name="pytorch",
                                  opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)])
        if self.rng.random() < 0.5:
            model = onnx.shape_inference.infer_shapes(model)
            for info in model.graph.value_info:             # some are told without their shape
                if self.rng.random() < 0.3:
                    info.type.tensor_type.ClearField("shape")
        return model


def main() -> int:
    binary, count = sys.argv[1], int(sys.argv[2])
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failed = unfit = nodes = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            maker = Maker(seed)
            try:
                model = maker.model()
                onnx.save(model, path, **({"save_as_external_data": True, "location": "weights.data",
                                           "size_threshold": 90} if seed % 3 == 0 else {}))
                feeds = {name: value for name, value in random_feeds(session(path)).items() if name in ("x", "x2")}
                feeds.update({t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer
                              if t.name in {i.name for i in model.graph.input} and not t.external_data})
                run(path, feeds)
            except Exception as error:                      # a graph that ONNX Runtime does not take is none of ours
                unfit += 1
                print(f"seed {seed}: not run: {str(error)[:160]}", file=sys.stderr)
                continue
            nodes += len(model.graph.node)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                good = check(binary, path, feeds)
            if not good:
                failed += 1
                print(f"seed {seed}: {said.getvalue().strip()}", flush=True)
    print(f"{count - unfit - failed} of {count - unfit} random models pass, {nodes} nodes; {unfit} did not run as they are")
    return 1 if failed or unfit > count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
