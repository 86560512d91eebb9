"""What happens to an export afterwards: names lost, optimized, simplified, quantized.

Each function takes the path of an export with its weights and the path to write to. The renaming ones keep every node
where it was; the others run the real tool.
"""
from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Callable, Dict, Iterator, Set

import onnx
from onnx import GraphProto, ModelProto

from truth.truth_rows import ModuleMap, graphs, places, subgraphs

if TYPE_CHECKING:
    from models.zoo import Example


# ---------------------------------------------------------------- renaming
def rename_values(model: ModelProto, new_name: Callable[[str], str]) -> None:
    """Renames every tensor but the graph's own inputs and outputs, in order of appearance."""
    kept = {v.name for v in [*model.graph.input, *model.graph.output]}
    names: Dict[str, str] = {"": "", **{k: k for k in kept}}

    def renamed(name: str) -> str:
        if name not in names:
            names[name] = new_name(name)
        return names[name]

    def visit(graph: GraphProto) -> None:
        for group in (graph.initializer, graph.input):
            for value in group:
                value.name = renamed(value.name)
        for node in graph.node:
            node.input[:] = [renamed(t) for t in node.input]
            for _, inner in subgraphs(node):
                visit(inner)
            node.output[:] = [renamed(t) for t in node.output]
        for group in (graph.output, graph.value_info):
            for value in group:
                value.name = renamed(value.name)

    visit(model.graph)


def fresh_numbers(model: ModelProto, taken: Set[str]) -> Iterator[str]:
    start = len(model.graph.input) + len(model.graph.initializer)
    return (str(n) for n in count(start) if str(n) not in taken)


def weight_names(model: ModelProto) -> Set[str]:
    return {w.name for g in graphs(model) for w in g.initializer}


def noscope(model: ModelProto, modules: ModuleMap) -> None:
    """As torch up to 1.10 named things: one counter for all nodes, numbers for values and for folded weights."""
    weights = weight_names(model)
    number = {w: re.sub(r"^onnx::\w+?_(?=\d+$)", "", w) for w in weights}
    numbers = fresh_numbers(model, set(number.values()))

    def new_name(tensor: str) -> str:
        if tensor in modules.owner:
            return tensor
        return number.get(tensor) or next(numbers)

    rename_values(model, new_name)
    for k, place in enumerate(places(model)):
        place.node.name = f"{place.node.op_type}_{k}"
    for k, graph in enumerate(graphs(model)):
        graph.name = "torch-jit-export" + (str(k) if k else "")
    model.producer_version = "1.10"


def anon(model: ModelProto, modules: ModuleMap) -> None:
    """No node names, numbers for values; only the parameters still have names."""
    weights = weight_names(model)
    numbers = fresh_numbers(model, weights)
    rename_values(model, lambda tensor: tensor if tensor in weights else next(numbers))
    for place in places(model):
        place.node.name = ""


def nometa(model: ModelProto, modules: ModuleMap) -> None:
    """As after any tool that drops metadata, which is most of them."""
    del model.metadata_props[:]
    for place in places(model):
        del place.node.metadata_props[:]
    for graph in graphs(model):
        del graph.metadata_props[:]
        for value in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
            del value.metadata_props[:]
    for function in model.functions:
        del function.metadata_props[:]


def bare(model: ModelProto, modules: ModuleMap) -> None:
    """Not one name is left that tells anything: nodes, values, weights, inputs, outputs, axes, graphs, metadata."""
    nometa(model, modules)
    names: Dict[str, str] = {"": ""}

    def renamed(name: str, prefix: str = "v") -> str:
        if name not in names:
            names[name] = f"{prefix}_{len(names)}"
        return names[name]

    def visit(graph: GraphProto) -> None:
        for prefix, group in (("i", graph.input), ("w", graph.initializer)):
            for value in group:
                value.name = renamed(value.name, prefix)
        for node in graph.node:
            node.input[:] = [renamed(t) for t in node.input]
            for _, inner in subgraphs(node):
                visit(inner)
            node.output[:] = [renamed(t) for t in node.output]
        for group in (graph.output, graph.value_info):
            for value in group:
                value.name = renamed(value.name)
        for value in [*graph.input, *graph.output, *graph.value_info]:
            for axis in value.type.tensor_type.shape.dim:
                if axis.HasField("dim_param"):
                    axis.dim_param = renamed(axis.dim_param, "d")

    visit(model.graph)
    for function in model.functions:
        for node in function.node:
            node.input[:] = [renamed(t) for t in node.input]
            node.output[:] = [renamed(t) for t in node.output]
        for group in (function.input, function.output):
            group[:] = [renamed(t) for t in group]
    for k, graph in enumerate(graphs(model)):
        graph.name, graph.doc_string = f"g_{k}", ""
    for k, place in enumerate(places(model)):
        place.node.name, place.node.doc_string = f"n_{k}", ""


# ---------------------------------------------------------------- real tools
def ort_saved(level: str) -> Callable[[str, str, Example], None]:
    def run(source: str, target: str, example: Example) -> None:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = target
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    return run


def slim(source: str, target: str, example: Example) -> None:
    import onnxslim
    onnx.save(onnxslim.slim(onnx.load(source)), target)


def simplify(source: str, target: str, example: Example) -> None:
    import onnxsim
    onnx.save(onnxsim.simplify(onnx.load(source), check_n=0)[0], target)


def quantize_dynamic(source: str, target: str, example: Example) -> None:
    from onnxruntime import quantization
    quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QUInt8)


def quantize_qdq(source: str, target: str, example: Example) -> None:
    from onnxruntime import quantization

    class OneBatch(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.batches = iter([{name: t.numpy() for name, t in example.inputs.items()}])

        def get_next(self) -> object:
            return next(self.batches, None)

    quantization.quantize_static(source, target, OneBatch(), quant_format=quantization.QuantFormat.QDQ)


def quantize_4bit(source: str, target: str, example: Example) -> None:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    quantizer = MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=True, accuracy_level=4)
    quantizer.process()
    quantizer.model.save_model_to_file(target)


def half(source: str, target: str, example: Example) -> None:
    from onnxruntime.transformers.float16 import convert_float_to_float16
    onnx.save(convert_float_to_float16(onnx.load(source), keep_io_types=True), target)


# variant: (the export it starts from, what renames it)
RENAMED = {"ts-noscope": ("ts", noscope), "ts-anon": ("ts", anon), "dyn-nometa": ("dyn", nometa),
           "ts-bare": ("ts", bare), "dyn-bare": ("dyn", bare)}
# variant: the tool that is run on the TorchScript export
TOOLS: Dict[str, Callable[[str, str, Example], None]] = {
    "ts-ortbasic": ort_saved("ORT_ENABLE_BASIC"), "ts-ortext": ort_saved("ORT_ENABLE_EXTENDED"),
    "ts-slim": slim, "ts-sim": simplify, "ts-qdyn": quantize_dynamic, "ts-qdq": quantize_qdq, "ts-fp16": half,
    "ts-q4": quantize_4bit,
}
