"""Decoders that go on where they stopped: keys and values of earlier tokens come in, those of all tokens go out.

Half of the decoders in the wild are exported so, and their attention has a Concat, or a place for the past, that an
export without has not.
"""
from __future__ import annotations

import inspect
from typing import Any, Dict, List, Tuple

import torch
from torch import Tensor, nn

from models.small_models import built
from models.small_configs import small_configurations
from models.zoo import Example, ids

LENGTH, PAST = 2, 3
HEADS = ("ForCausalLM", "LMHeadModel")


def is_decoder(cls: Any) -> bool:
    return cls.__name__.endswith(HEADS) and "past_key_values" in inspect.signature(cls.forward).parameters


def layers_of(cache: Any) -> List[Tuple[Tensor, Tensor]]:
    """Keys and values by layer, whatever the library's version calls a cache."""
    if hasattr(cache, "layers"):
        return [(layer.keys, layer.values) for layer in cache.layers]
    if hasattr(cache, "key_cache"):
        return list(zip(cache.key_cache, cache.value_cache))
    return [(layer[0], layer[1]) for layer in cache]


def cache_of(layers: List[Tuple[Tensor, Tensor]], like: Any) -> Any:
    if isinstance(like, tuple):
        return tuple(layers)
    cache = type(like)()
    for index, (key, value) in enumerate(layers):
        cache.update(key, value, index)
    return cache


def take_past(model: nn.Module, like: Any) -> None:
    """Gives the model a forward of plain tensors; no module is wrapped, so paths stay what they are."""
    forward = model.forward
    names = ["input_ids", "attention_mask"]
    names += [f"past_{i}_{what}" for i in range(len(layers_of(like))) for what in ("key", "value")]

    def narrow(input_ids: Tensor, attention_mask: Tensor, *past: Tensor) -> Tuple[Tensor, ...]:
        cache = cache_of(list(zip(past[::2], past[1::2])), like)
        out = forward(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        return (out.logits, *(t for layer in layers_of(out.past_key_values) for t in layer))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    narrow.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    model.forward = narrow


def example_with_past(cls: Any, attention: str) -> Example:
    errors: List[BaseException] = []
    for config in small_configurations(cls, {}):
        try:
            model = built(cls, config, attention)
            with torch.no_grad():
                like = model(input_ids=ids(2, PAST), use_cache=True).past_key_values
            inputs: Dict[str, Tensor] = {"input_ids": ids(2, LENGTH),
                                         "attention_mask": torch.ones(2, PAST + LENGTH, dtype=torch.int64)}
            for i, (key, value) in enumerate(layers_of(like)):
                inputs |= {f"past_{i}_key": key.clone(), f"past_{i}_value": value.clone()}
            take_past(model, like)
            with torch.no_grad():
                model(*inputs.values())
        except Exception as error:
            errors.append(error)
            continue
        axes = {name: {0: "batch", 1: "sequence"} if name in ("input_ids", "attention_mask") else {0: "batch", 2: "past"}
                for name in inputs}
        return Example(model, inputs, [], axes)
    raise errors[0] if errors else ValueError("no configuration is small enough")
