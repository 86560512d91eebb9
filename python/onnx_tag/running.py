"""Two ways to run a model for a recording: a plain run, and a run as in the exporters.

Models ask whether they are being traced and then take another way (transformers builds attention masks that it leaves
out of a plain run, because exported code must work for every input). So the run is traced like an export where that is
possible; what the tracer makes is thrown away.
"""
from __future__ import annotations

import contextlib
import copy
import warnings
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Sequence, Tuple

import torch
from torch import nn

from .document import RecordingError
from .recorder import Recorder, tensors_in

if TYPE_CHECKING:
    from torch import Tensor

MODES = ("traced", "eager", "auto")


@contextlib.contextmanager
def evaluating(model: "nn.Module") -> Iterator[None]:
    """Sets eval mode, without gradients and without fused kernels for whole layers. Restores everything."""
    flags = [(module, module.training) for module in model.modules()]
    fastpath = getattr(torch.backends, "mha", None)
    fast = fastpath.get_fastpath_enabled() if fastpath is not None else False
    try:
        model.eval()
        if fastpath is not None:
            fastpath.set_fastpath_enabled(False)
        with torch.no_grad():
            yield
    finally:
        if fastpath is not None:
            fastpath.set_fastpath_enabled(fast)
        for module, flag in flags:
            module.training = flag


def twin(model: "nn.Module") -> "nn.Module":
    """A copy of the modules with the same parameters and buffers, for tracers.

    Models remember what they saw (shapes, grids, masks), and what a tracer shows them must not stay behind. A model
    whose forward was replaced by a function cannot be copied: the function speaks of the old one.
    """
    if any("forward" in vars(module) for module in model.modules()):
        return model
    shared: Dict[int, Any] = {id(t): t for t in (*model.parameters(), *model.buffers())}
    try:
        return copy.deepcopy(model, shared)
    except Exception:                                       # locks, files, generators
        return model


def run_recorded(model: "nn.Module", args: Sequence[Any], kwargs: Mapping[str, Any], mode: str) -> Recorder:
    """Records one run. `auto`: traced, or eager if tracing fails. An error of the model is raised."""
    if mode not in MODES:
        raise RecordingError(f"invalid run {mode!r}; valid values: 'traced', 'eager', 'auto'")
    if mode in ("traced", "auto"):
        try:
            return _traced(twin(model), tuple(args), dict(kwargs))
        except Exception:
            if mode == "traced":
                raise
    recorder = Recorder(model)
    with evaluating(model), recorder:
        recorder.run(args, kwargs)
    return recorder


class _Holder(nn.Module):
    """Passes the tensors of the tracer to the model instead of the given tensors."""

    def __init__(self, model: "nn.Module", recorder: Recorder, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        super().__init__()
        self.model, self.recorder, self.args, self.kwargs = model, recorder, args, kwargs

    def forward(self, *tensors: "Tensor") -> Tuple["Tensor", ...]:
        left = list(reversed(tensors))
        result = self.recorder.run(replace(self.args, left), replace(self.kwargs, left))
        return tuple(tensors_in(result))


def replace(value: Any, tensors: "List[Tensor]") -> Any:
    """`value` with the tensors of its lists, tuples and dictionaries taken from the end of `tensors`."""
    if isinstance(value, torch.Tensor):
        return tensors.pop()
    if isinstance(value, dict):
        return {key: replace(item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(replace(item, tensors) for item in value)
    return value


def replaceable(value: Any) -> "Iterator[Tensor]":
    """The tensors that `replace` replaces, in the same order. Tensors inside other objects are not replaced."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from replaceable(item)
    elif isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        for item in value:
            yield from replaceable(item)


def _traced(model: "nn.Module", args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Recorder:
    tensors = tuple(replaceable([args, kwargs]))
    recorder = Recorder(model)
    recorder.mode = "traced"
    holder = _Holder(model, recorder, args, kwargs)
    with evaluating(model), warnings.catch_warnings():
        warnings.simplefilter("ignore")                     # about Python values in a graph that is not used
        holder.eval()
        with recorder:
            torch.jit._get_trace_graph(holder, tensors)     # type: ignore[attr-defined]
    return recorder
