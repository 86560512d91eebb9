"""Small models of transformers that run, with plain tensors in and out, ready to be exported."""
from __future__ import annotations

import copy
import inspect
from typing import Any, Dict, List, Tuple

import torch
from torch import Tensor, nn

from catalogue.catalogue_configs import nested
from models.small_configs import small_configurations
from models.small_inputs import axes_for, input_sets
from models.zoo import Example, distinct

LARGEST = 80_000_000


def flat(value: Any) -> List[Tensor]:
    """The tensors of an output, in order; caches are left out."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = [v for k, v in value.items() if "past_key" not in k and "hidden_states" not in k and "attentions" not in k]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in flat(v)]
    return []


def only_tensors(model: nn.Module, names: List[str]) -> None:
    """Gives the model a forward that takes the named inputs and returns a plain tuple; no module is wrapped."""
    forward = model.forward

    def narrow(*values: Tensor, **named: Tensor) -> Tuple[Tensor, ...]:
        return tuple(flat(forward(**dict(zip(names, values)), **named)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    narrow.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    model.forward = narrow


def built(cls: Any, config: Any, attention: str, experts: str = "batched_mm") -> nn.Module:
    for part in nested(config):
        try:
            part._attn_implementation = attention
            part._experts_implementation = experts          # not grouped_mm, which TorchScript cannot export
        except Exception:
            pass
    torch.manual_seed(0)
    try:
        with torch.device("meta"):
            size = sum(p.numel() for p in cls(copy.deepcopy(config)).parameters())
    except Exception:
        size = 0
    if size > LARGEST:
        raise ValueError(f"{size} parameters are too many")
    try:
        model = cls._from_config(config, attn_implementation=attention)
    except Exception:
        model = cls(config)
    model.eval().float()
    return distinct(model)


def has_only_eager(error: BaseException) -> bool:
    """What transformers says of a model that has no other attention."""
    return "does not support an attention implementation" in str(error)


def example(cls: Any, attention: str = "eager", plain: bool = False, settings: Dict[str, Any] = {}) -> Example:
    """A model that runs on its inputs, ready to be exported."""
    errors: List[BaseException] = []
    for config in small_configurations(cls, settings):
        try:
            model = built(cls, config, attention, settings.get("experts", "batched_mm"))
        except Exception as error:
            errors.append(error)
            continue
        for inputs in input_sets(model, config, plain):
            try:
                with torch.no_grad():
                    out = flat(model(**inputs))
                if not out:
                    raise ValueError("no tensor comes out")
            except Exception as error:
                errors.append(error)
                continue
            only_tensors(model, list(inputs))
            return Example(model, inputs, [], axes_for(inputs))
    if errors and has_only_eager(errors[0]) and attention != "eager":
        return example(cls, "eager", plain, settings)
    raise errors[0] if errors else ValueError("no inputs known")


def leave_out_packing() -> None:
    """TorchScript has no symbol for the search for packed sequences, so no file of that exporter holds it."""
    try:
        from transformers import masking_utils
        masking_utils.find_packed_sequence_indices = lambda *_: None
    except Exception:
        pass
