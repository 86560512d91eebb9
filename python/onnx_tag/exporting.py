"""What stands between a Hugging Face model and an exporter."""
from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Tuple

from .recorder import tensors_in

if TYPE_CHECKING:
    from torch import nn


@contextlib.contextmanager
def without_cache(model: "nn.Module", named: Mapping[str, Any]) -> Iterator[None]:
    """A generating model returns its cache unless it is told not to, and no exporter takes such an output.

    If the caller gives neither a cache nor `use_cache`, the model runs without one; its configuration is put back.
    """
    changed: List[Any] = []
    try:
        if "use_cache" not in named and named.get("past_key_values") is None:
            for module in model.modules():
                config: Any = getattr(module, "config", None)
                if getattr(config, "use_cache", None) is True:
                    config.use_cache = False
                    changed.append(config)
        yield
    finally:
        for config in changed:
            config.use_cache = True


def _has_tensors(value: Any) -> bool:
    return next(iter(tensors_in(value)), None) is not None


@contextlib.contextmanager
def without_unused_inputs(model: "nn.Module", args: Tuple[Any, ...],
                          named: Dict[str, Any]) -> Iterator[Tuple[Tuple[Any, ...], List[str]]]:
    """What torch.onnx.export is to be given: the inputs, in order, and their names.

    The TorchScript exporter passes every parameter of `forward` on by position, those without a value too. Models
    whose forward is wrapped (all of transformers) take some of them by name only and refuse. Inside the block
    `forward` has exactly the inputs that were given; what holds no tensor is not an input.
    """
    values: Dict[str, Any] = {}
    try:
        parameters = list(inspect.signature(model.forward).parameters)
    except (TypeError, ValueError):
        parameters = []
    for position, value in enumerate(args):
        name = parameters[position] if position < len(parameters) else f"input_{position}"
        values[name if name not in values and name not in named else f"input_{position}"] = value
    positions = list(values)
    values.update(named)
    names = [name for name, value in values.items() if _has_tensors(value)]
    original, replaced = model.forward, "forward" in vars(model)

    def forward(*inputs: Any) -> Any:
        now = {**values, **dict(zip(names, inputs))}
        return original(*(now[name] for name in positions), **{name: now[name] for name in named})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    forward.__signature__ = inspect.Signature(              # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names])
    model.forward = forward                                 # type: ignore[method-assign]
    try:
        yield tuple(values[name] for name in names), _leaf_names(names, values)
    finally:
        if replaced:
            model.forward = original                        # type: ignore[method-assign]
        else:
            del model.forward


def _leaf_names(names: List[str], values: Dict[str, Any]) -> List[str]:
    """An input that holds several tensors becomes several inputs of the graph."""
    result: List[str] = []
    for name in names:
        count = sum(1 for _ in tensors_in(values[name]))
        result.extend([name] if count == 1 else [f"{name}.{k}" for k in range(count)])
    return result
