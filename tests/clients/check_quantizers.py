#!/usr/bin/env python3
"""Do other tools convert exactly the nodes that `select --for` selects?

    check_quantizers.py BINARY MODEL TOOL...

TOOL is nncf, modelopt, fp16 or neural-compressor. The package must be installed: neural-compressor needs older versions of
numpy and onnx than the others, so it has an environment of its own (run_quantizers.sh). Prints a line for each tool; exit 1
if any check fails.

A tool has its own list of operators that it converts. So it first converts the whole model; the nodes that it converts then
are those it could. With a selection it must convert the selected ones of these and no other; with --exclude, the others.
"""
from __future__ import annotations

import importlib.metadata
import json
import logging
import pathlib
import subprocess
import sys
import tempfile
from typing import Callable, Dict, Set

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools/models"))
from feeds import random_feeds

onnxruntime.set_default_logger_severity(4)
logging.disable(logging.WARNING)
QUERY = "type=attention"
# What is multiplied by a weight, or is a product: the rest only follows it.
MAIN = ("MatMul", "Gemm", "Conv")


def feeds_of(model: pathlib.Path) -> Dict[str, np.ndarray]:
    return random_feeds(onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]))


def runs(model: onnx.ModelProto, feeds: Dict[str, np.ndarray]) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    kinds = {value.name: value.type for value in session.get_inputs()}
    session.run(None, {name: array.astype(np.float16) if kinds[name] == "tensor(float16)" else array
                       for name, array in feeds.items()})


def fed_by(model: onnx.ModelProto, op: str) -> Set[str]:
    """Nodes that multiply what a node of type `op` made."""
    made = {output for node in model.graph.node if node.op_type == op for output in node.output}
    return {node.name for node in model.graph.node if node.op_type in MAIN and made & set(node.input)}


def by_nncf(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    import nncf
    scope = nncf.IgnoredScope(**said["ignored_scope"]) if said else None
    model = nncf.quantize(onnx.load(path), nncf.Dataset([feeds]), ignored_scope=scope, subset_size=1)
    runs(model, feeds)
    return fed_by(model, "DequantizeLinear")


def by_modelopt(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from modelopt.onnx.quantization import quantize
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.onnx"
        words = dict(said) or {"op_types_to_quantize": ["MatMul", "Gemm", "Conv"]}
        if "nodes_to_exclude" in words:
            words["op_types_to_quantize"] = ["MatMul", "Gemm", "Conv"]
        quantize(str(path), calibration_data=feeds, calibration_eps=["cpu"], output_path=str(out), high_precision_dtype="fp32",
                 enable_gemv_detection_for_trt=False, log_level="ERROR", **words)
        model = onnx.load(out)
    runs(model, feeds)
    return fed_by(model, "DequantizeLinear")


def by_fp16(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from onnxconverter_common import float16
    model = float16.convert_float_to_float16(onnx.load(path), **said)
    # A part has inputs that random numbers do not fit, so it is only loaded.
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return half_products(model)


def half_products(model: onnx.ModelProto) -> Set[str]:
    model = onnx.shape_inference.infer_shapes(model)
    half = {value.name for value in [*model.graph.value_info, *model.graph.output]
            if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16}
    return {node.name for node in model.graph.node if node.op_type in MAIN and half & set(node.output)}


def by_ort_fp16(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from onnxruntime.transformers.float16 import convert_float_to_float16
    model = convert_float_to_float16(onnx.load(path), keep_io_types=True, **said)
    # Version 1.31.1 casts an input that two blocked nodes share twice, to one name, which its session then refuses.
    seen: Set[str] = set()
    for node in list(model.graph.node):
        if node.output[0] in seen:
            model.graph.node.remove(node)
        seen.add(node.output[0])
    runs(model, feeds)
    return half_products(model)


def by_neural_compressor(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from neural_compressor import PostTrainingQuantConfig, quantization
    config = PostTrainingQuantConfig(approach="dynamic", recipes={"graph_optimization_level": "DISABLE_ALL"}, **said)
    model = quantization.fit(str(path), config).model
    runs(model, feeds)
    # A Gemm is made a MatMul and an Add first.
    return {node.name.removesuffix("_quant").removesuffix("_MatMul") for node in model.graph.node
            if node.op_type == "MatMulInteger"}


TOOLS: Dict[str, tuple[str, str, Callable[[pathlib.Path, Dict, Dict[str, np.ndarray]], Set[str]]]] = {
    "nncf": ("nncf", "nncf", by_nncf),
    "modelopt": ("modelopt", "nvidia-modelopt", by_modelopt),
    "fp16": ("fp16", "onnxconverter-common", by_fp16),
    "ort-fp16": ("fp16", "onnxruntime", by_ort_fp16),
    "neural-compressor": ("neural-compressor", "neural-compressor", by_neural_compressor),
}


def check(binary: str, whole: pathlib.Path, tool: str, folder: str) -> str:
    word, package, convert = TOOLS[tool]
    model = whole
    if tool == "fp16":
        # Version 1.16.0 makes an invalid model where a blocked node reads an output of the graph, as the pooler does.
        model = pathlib.Path(folder) / "encoder.onnx"
        subprocess.run([binary, "extract", str(whole), "--module", "encoder", "-o", str(model)], check=True, capture_output=True)
    feeds = feeds_of(model)
    names = {node.name for node in onnx.load(model).graph.node}
    could = convert(model, {}, feeds)
    assert could and could <= names, f"converts {sorted(could - names)[:3]}"

    def ask(*words: str) -> str:
        return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout

    chosen = {row["name"] for row in json.loads(ask("query", str(model), QUERY, "--json"))["nodes"]}
    assert could & chosen and could - chosen, "the selection is no part of it"
    for words, want in (((), could & chosen), (("--exclude",), could - chosen)):
        said = json.loads(ask("select", str(model), QUERY, "--for", word, "--json", *words))
        done = convert(model, said, feeds)
        assert done == want, f"{' '.join(words)} {len(done)} converted, not {len(want)}: {sorted(done ^ want)[:4]}"
    return (f"{package} {importlib.metadata.version(package)}: {len(could & chosen)} of {len(could)} nodes, "
            "the others with --exclude")


def main() -> int:
    binary, model, failed = sys.argv[1], pathlib.Path(sys.argv[2]), 0
    for tool in sys.argv[3:]:
        try:
            with tempfile.TemporaryDirectory() as folder:
                print(f"PASS {tool} {check(binary, model, tool, folder)}", flush=True)
        except Exception as error:                  # whatever a tool throws is its answer
            failed += 1
            print(f"FAIL {tool}: {type(error).__name__}: {error}"[:600], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
