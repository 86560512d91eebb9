"""The FX section: the graph of a model from torch.export or symbolic tracing, with the module stack of each node."""
from __future__ import annotations

import functools
import inspect
import logging
import re
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

import torch

from .document import RecordingError
from .modules import class_name
from .recorder import constant
from .values import dtype_name

if TYPE_CHECKING:
    from torch import nn

Dump = Tuple[Dict[str, str], List[Dict[str, Any]]]


class RecordingWarning(UserWarning):
    """A part of the recording could not be made; the other parts are complete."""


class NoFxError(RecordingError):
    """No tracer can follow the model."""
    exit_code = 1


def fx_dump(model: "nn.Module", args: Sequence[Any], kwargs: Mapping[str, Any], required: bool = False
            ) -> Optional[Dump]:
    """(`fx_source`, `fx`). If no tracer can follow the model: None after a warning with the reasons, or NoFxError."""
    reasons: List[str] = []
    for trace in (_exported, _traced):
        try:
            with warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")
                return trace(model, tuple(args), dict(kwargs))
        except Exception as error:                          # tracers fail in as many ways as there are models
            first = str(error).strip().split("\n")[0]
            reasons.append(f"{_TRACERS[trace.__name__]}: {type(error).__name__}: {first[:200]}")
    text = "neither tracer can follow this model\n  " + "\n  ".join(reasons)
    if required:
        raise NoFxError(f"no FX graph: {text}\n  record without --fx: the execution trace does not need a tracer")
    warnings.warn(f"no FX section: {text}\n  the execution trace does not need one", RecordingWarning, stacklevel=3)
    return None


_TRACERS = {"_exported": "torch.export", "_traced": "torch.fx.symbolic_trace"}


def _exported(model: "nn.Module", args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dump:
    program = torch.export.export(model, args, kwargs, strict=False)
    table = _onnx_decompositions()
    if table is not None:
        program = program.run_decompositions(table)
    return program_dump(program, "torch.onnx" if table is not None else "none")


@functools.lru_cache(maxsize=None)
def _onnx_decompositions() -> Optional[Any]:
    """The decompositions of torch.onnx. Without them the graph has larger operations."""
    try:
        from torch.onnx._internal.exporter import _decomp, _registration
        logging.getLogger(_registration.__name__).setLevel(logging.ERROR)   # it warns about every missing library
        registry: Any = _registration.ONNXRegistry.from_torchlib()
        implemented: Any = _decomp.get_onnx_implemented_overloads(registry)
        return _decomp.create_onnx_friendly_decomposition_table(implemented)
    except Exception:                                       # not public, and absent without onnxscript
        return None


def program_dump(program: Any, decompositions: str) -> Dump:
    """The dump of a `torch.export.ExportedProgram`."""
    source = {"tracer": "torch.export", "decompositions": decompositions}
    signature = program.graph_signature
    tensors = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
               **getattr(signature, "inputs_to_lifted_tensor_constants", {})}
    nodes = []
    for node in program.graph.nodes:
        entry = _node(node)
        if node.op == "placeholder" and node.name in tensors:
            entry["parameter"] = tensors[node.name]
        nodes.append(entry)
    return source, nodes


def _traced(model: "nn.Module", args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dump:
    given = inspect.signature(model.forward).bind(*args, **kwargs).arguments
    fixed = {name: parameter.default for name, parameter in inspect.signature(model.forward).parameters.items()
             if name not in given and parameter.default is not parameter.empty}
    traced = torch.fx.symbolic_trace(model, concrete_args=fixed or None)
    classes = {path: class_name(module) for path, module in model.named_modules()}
    nodes = []
    for node in traced.graph.nodes:
        entry = _node(node)
        if node.op == "get_attr":
            entry["parameter"] = str(node.target)
        if node.op == "call_module":                        # a leaf: the tracer does not look inside torch.nn
            path = str(node.target)
            atoms = path.split(".")
            above = [".".join(atoms[:i]) for i in range(len(atoms) + 1)]
            entry["module"] = path
            entry["stack"] = [[p, classes[p]] for p in above if p in classes]
        nodes.append(entry)
    return {"tracer": "torch.fx.symbolic_trace", "decompositions": "none"}, nodes


def _node(node: Any) -> Dict[str, Any]:
    entry: Dict[str, Any] = {"name": node.name, "op": node.op, "target": _target(node),
                             "inputs": [_argument(a) for a in node.args]}
    if node.kwargs:
        entry["kwargs"] = {name: _argument(a) for name, a in node.kwargs.items()}
    stack = _stack(node)
    if stack:
        entry["module"] = stack[-1][0]
        entry["stack"] = stack
    if node.meta.get("stack_trace"):
        entry["stack_trace"] = node.meta["stack_trace"]
    shape = _shapes(node.meta.get("val"))
    if shape is not None:
        entry["shape"], entry["dtype"] = shape
    return entry


def _target(node: Any) -> str:
    target = node.target
    if node.op == "call_function" and not isinstance(target, str) and not hasattr(target, "_schema"):
        return f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', target)}".lstrip(".")
    return str(target)


def _argument(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, torch.fx.Node):
        return value.name
    if isinstance(value, (list, tuple)) and any(isinstance(item, torch.fx.Node) for item in value):
        return [_argument(item) for item in value]
    return {"const": constant(value)}


def _stack(node: Any) -> List[List[str]]:
    """`nn_module_stack` maps a key to (path, class). In the k-th repeated call of a module, the path ends with @k."""
    stack: List[List[str]] = []
    for path, kind in (node.meta.get("nn_module_stack") or {}).values():
        name = kind if isinstance(kind, str) else kind.__name__
        clean = re.sub(r"@\d+", "", re.sub(r"^L\['self'\]\.?", "", str(path)))
        stack.append([clean, name.rpartition(".")[2]])
    return stack


def _shapes(value: Any) -> Optional[Tuple[Any, Any]]:
    """Shape and dtype; for several results, a list of each."""
    if isinstance(value, torch.Tensor):
        return [constant(d) if not isinstance(d, int) else d for d in value.shape], dtype_name(value.dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
        pairs = [_shapes(item) or (None, None) for item in value]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    return None
