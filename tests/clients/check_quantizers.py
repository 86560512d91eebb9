#!/usr/bin/env python3
"""Do other tools convert exactly the nodes that `select --for` selects?

    check_quantizers.py BINARY MODEL TOOL...

TOOL is a key of TOOLS or FORMS below. Its package must be installed: neural-compressor needs older versions of
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


def by_autocast(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from modelopt.onnx.autocast import convert_to_mixed_precision
    model = convert_to_mixed_precision(onnx_path=str(path), low_precision_type="fp16", keep_io_types=True, **said)
    runs(model, feeds)
    return half_products(model)


def by_quark(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from quark.onnx import Int8Spec, ModelQuantizer, QConfig, QLayerConfig
    layer = QLayerConfig(activation=Int8Spec(), weight=Int8Spec())
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.onnx"
        # It merges and renames nodes before it looks at the list, unless it is told not to.
        config = QConfig(global_config=layer, OptimizeModel=False, SimplifyModel=False, **said)
        ModelQuantizer(config).quantize_model(str(path), str(out), Reader(feeds))
        model = onnx.load(out)
    # A node that is left alone may read what a quantized neighbour made, but not only that.
    made = {output for node in model.graph.node if node.op_type == "DequantizeLinear" for output in node.output}
    return {node.name for node in model.graph.node if node.op_type in MAIN and made.issuperset(node.input[:2])}


class Reader:
    """The inputs, once."""

    def __init__(self, feeds: Dict[str, np.ndarray]) -> None:
        self.feeds = [feeds]

    def get_next(self) -> Dict[str, np.ndarray] | None:
        return self.feeds.pop() if self.feeds else None

    def __len__(self) -> int:
        return len(self.feeds)


# These give the selected nodes another precision than the others, and have no --exclude.
def by_matmulnbits(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from onnxruntime.quantization import matmul_nbits_quantizer as nbits
    config = nbits.RTNWeightOnlyQuantConfig(**said)
    quantizer = nbits.MatMulNBitsQuantizer(onnx.load(path), block_size=32, is_symmetric=True, algo_config=config)
    quantizer.process()
    runs(quantizer.model.model, feeds)
    end = "_Q8" if said else "_Q4"
    return {node.name.removesuffix(end) for node in quantizer.model.model.graph.node
            if node.op_type == "MatMulNBits" and node.name.endswith(end)}


def by_olive(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from olive.model import ONNXModelHandler
    from olive.passes.olive_pass import create_pass_from_dict
    from olive.passes.onnx.kquant_quantization import OnnxKQuantQuantization
    with tempfile.TemporaryDirectory() as folder:
        done = create_pass_from_dict(OnnxKQuantQuantization, {"bits": 4, **said}, disable_search=True).run(
            ONNXModelHandler(str(path)), folder + "/out")
        model = onnx.load(done.model_path)
    runs(model, feeds)
    bits = 8 if said else 4
    return {node.name.removesuffix(f"_Q{bits}") for node in model.graph.node if node.op_type == "MatMulNBits"
            and any(a.name == "bits" and a.i == bits for a in node.attribute)}


def by_ort_overrides(path: pathlib.Path, said: Dict, feeds: Dict[str, np.ndarray]) -> Set[str]:
    from onnxruntime.quantization import QuantFormat, quantize_static
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.onnx"
        quantize_static(str(path), str(out), Reader(feeds), quant_format=QuantFormat.QDQ, **said)
        model = onnx.load(out)
    runs(model, feeds)
    types = {t.name: t.data_type for t in model.graph.initializer}
    wanted = (onnx.TensorProto.UINT16,) if said else (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    quantized = {node.input[0] for node in model.graph.node
                 if node.op_type == "QuantizeLinear" and types.get(node.input[2]) in wanted}
    return {node.name for node in onnx.load(path).graph.node if quantized & set(node.output)}


TOOLS: Dict[str, tuple[str, str, Callable[[pathlib.Path, Dict, Dict[str, np.ndarray]], Set[str]]]] = {
    "nncf": ("nncf", "nncf", by_nncf),
    "modelopt": ("modelopt", "nvidia-modelopt", by_modelopt),
    "fp16": ("fp16", "onnxconverter-common", by_fp16),
    "ort-fp16": ("fp16", "onnxruntime", by_ort_fp16),
    "neural-compressor": ("neural-compressor", "neural-compressor", by_neural_compressor),
    "autocast": ("autocast", "nvidia-modelopt", by_autocast),
    "quark": ("quark", "amd-quark", by_quark),
    "matmulnbits": ("matmulnbits", "onnxruntime", by_matmulnbits),
    "olive-matmulnbits": ("matmulnbits", "olive-ai", by_olive),
    "ort-overrides": ("ort-overrides", "onnxruntime", by_ort_overrides),
}


def constants_of(model: onnx.ModelProto) -> Set[str]:
    """Values that depend on no input: select leaves them out."""
    known = {t.name for t in model.graph.initializer} | {""}
    for node in model.graph.node:
        if known.issuperset(node.input):
            known |= set(node.output)
    return known


def npi_names(text: str) -> Set[str]:
    """Glow's documented form: a list of texts under one of two keys."""
    import yaml
    said = yaml.safe_load(text)
    assert set(said) <= {"FP32NodeInstanceNames", "FP16NodeInstanceNames"}, f"other keys: {list(said)}"
    names = [name for list_of in said.values() for name in list_of]
    assert all(isinstance(name, str) for name in names) and len(set(names)) == len(names), "not texts, or not once"
    return set(names)


def qnn_names(text: str) -> Set[str]:
    """The layout of version 0.6.1: a float entry has a width and a type, and nothing else."""
    said = json.loads(text)
    assert said["version"] == "0.6.1" and set(said) == {"version", "activation_encodings", "param_encodings"}
    for entries in (*said["activation_encodings"].values(), *said["param_encodings"].values()):
        assert [set(entry) for entry in entries] == [{"bitwidth", "dtype"}], entries
        assert entries[0]["bitwidth"] in (16, 32) and entries[0]["dtype"] == "float", entries
    return set(said["activation_encodings"]) | set(said["param_encodings"])


# Forms whose clients do not run here: their readers.
FORMS = {"npi": npi_names, "qnn-overrides": qnn_names}


def check_form(binary: str, model: pathlib.Path, tool: str) -> str:
    def ask(*words: str) -> str:
        return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout

    whole = onnx.shape_inference.infer_shapes(onnx.load(model))
    kinds = {v.name: v.type.tensor_type.elem_type for v in [*whole.graph.value_info, *whole.graph.output]}
    floats = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16)
    chosen = {(row["name"], row["index"]) for row in json.loads(ask("query", str(model), QUERY, "--json"))["nodes"]}
    nodes = [node for i, node in enumerate(whole.graph.node) if (node.name, i) in chosen]
    outputs = {name for node in nodes for name in node.output if kinds.get(name) in floats}
    constants = constants_of(whole)
    weights = {t.name for t in whole.graph.initializer if t.data_type in floats and np.prod(t.dims) > 1}
    read = {name for node in nodes for name in node.input} & weights
    said = FORMS[tool](ask("select", str(model), QUERY, "--for", tool))
    assert said == outputs - constants, f"differs: {sorted(said ^ (outputs - constants))[:4]}"
    said = FORMS[tool](ask("select", str(model), QUERY, "--for", tool, "--weights", "--precision", "fp16"))
    assert said == (outputs - constants) | read, f"differs: {sorted(said ^ (outputs | read))[:4]}"
    return f"{len(outputs - constants)} tensors, {len(read)} weights"


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
    alone = word in ("matmulnbits", "ort-overrides")
    if word == "ort-overrides":
        loaded = onnx.load(model)
        constants = constants_of(loaded)
        could -= {node.name for node in loaded.graph.node if constants.issuperset(node.output)}
    for words, want in (((), could & chosen), (("--exclude",), could - chosen)):
        if alone and words:
            continue
        if alone:
            # What is not named as the selected nodes are, a tool converts as it would without a selection.
            words = ("--skip-unaddressable",)
        if tool == "ort-overrides":
            space: Dict = {}
            exec(ask("select", str(model), QUERY, "--for", word, *words), space)
            said = {"extra_options": space["extra_options"]}
        else:
            said = json.loads(ask("select", str(model), QUERY, "--for", word, "--json", *words))
        if word == "matmulnbits":
            said = {"customized_weight_config": said["passes"]["quantization"]["customized_weight_config"]}
        done = convert(model, said, feeds)
        assert done == want, f"{' '.join(words)} {len(done)} converted, not {len(want)}: {sorted(done ^ want)[:4]}"
    return (f"{package} {importlib.metadata.version(package)}: {len(could & chosen)} of {len(could)} nodes, "
            "the others " + ("as without a selection" if alone else "with --exclude"))


def main() -> int:
    binary, model, failed = sys.argv[1], pathlib.Path(sys.argv[2]), 0
    for tool in sys.argv[3:]:
        try:
            with tempfile.TemporaryDirectory() as folder:
                told = check_form(binary, model, tool) if tool in FORMS else check(binary, model, tool, folder)
                print(f"PASS {tool} {told}", flush=True)
        except Exception as error:                  # whatever a tool throws is its answer
            failed += 1
            print(f"FAIL {tool}: {type(error).__name__}: {error}"[:600], flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
