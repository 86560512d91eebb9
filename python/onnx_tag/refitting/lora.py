"""Adapters of PEFT: low-rank matrices that are added to weights."""
from __future__ import annotations

import json
import math
import os
import re
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Tuple

from ..errors import InputError, TagsError
from .bases import LowRank
from .checkpoints import Checkpoint, Parameter, _without_repeats

if TYPE_CHECKING:
    from ..arrays import Array

_UNSUPPORTED = ("use_dora", "modules_to_save", "lora_bias", "layer_replication", "use_qalora",
                "trainable_token_indices",
                "alora_invocation_tokens", "use_bdlora", "arrow_config", "target_parameters", "kasa_config",
                "monteclora_config")
# Other ways may change the weights of the base, too.
_STARTS = (True, False, None, "gaussian", "orthogonal")
_WILDCARDS = re.compile(r"[\^$*+?()\[\]{}|\\]")
_PREFIX, _A, _B = "base_model.model.", ".lora_A.weight", ".lora_B.weight"
_LARGEST = 1e6


class Pair(NamedTuple):
    a: "Array"                                              # [rank, in]
    b: "Array"                                              # [out, rank]
    scale: float


class Adapter:
    """What stands in a folder of PEFT. Raises TagsError for what is no plain LoRA, InputError for what cannot be
    read."""

    def __init__(self, folder: str) -> None:
        self.config_path = os.path.join(folder, "adapter_config.json")
        self.config = _read_config(self.config_path)
        ends = [end for end in (".safetensors", ".bin") if os.path.exists(os.path.join(folder, "adapter_model" + end))]
        self.checkpoint = Checkpoint(os.path.join(folder, "adapter_model" + (ends[0] if ends else ".safetensors")))
        self.turned = bool(self.config.get("fan_in_fan_out"))
        try:
            self.pairs = self._pairs(self.checkpoint.parameters)
        except TagsError as error:
            raise TagsError(f"{folder}: {error}") from None

    def _pairs(self, tensors: Dict[str, Parameter]) -> Dict[str, Pair]:
        pairs: Dict[str, Pair] = {}
        for name, tensor in tensors.items():
            is_b = name.endswith(_B)
            if not name.startswith(_PREFIX) or not (is_b or name.endswith(_A)) or tensor.numbers.ndim != 2 or \
                    not tensor.is_float:
                raise TagsError(f"{name}: is no part of a plain LoRA")
            module = name[len(_PREFIX):-len(_A)]
            other = tensors.get(_PREFIX + module + (_A if is_b else _B))
            if other is None:
                raise TagsError(f"{name}: its other matrix is missing")
            if is_b:
                continue
            shapes = list(tensor.numbers.shape), list(other.numbers.shape)
            rank = _chosen(self.config.get("rank_pattern"), module, self.config["r"])
            if shapes[0][0] < 1 or shapes[0][0] != rank or len(shapes[1]) != 2 or shapes[1][1] != shapes[0][0] or \
                    not other.is_float:
                raise TagsError(f"{module}: {shapes[0]} and {shapes[1]} are not of rank {rank:g}")
            alpha = _chosen(self.config.get("alpha_pattern"), module, self.config["lora_alpha"])
            pairs[module] = Pair(tensor.floats(), other.floats(),
                                 alpha / (math.sqrt(rank) if self.config.get("use_rslora") else rank))
        if not pairs:
            raise TagsError("adds to no weight")
        return pairs

    def added_to(self, base: Checkpoint) -> Dict[str, LowRank]:
        """By the parameter to which it is added."""
        added: Dict[str, LowRank] = {}
        for module, (a, b, scale) in self.pairs.items():
            name = module + ".weight"
            weight = base.parameters.get(name)
            if weight is None:
                raise TagsError(f"{self.checkpoint.path}: {name}: the checkpoint has none")
            shape: Tuple[int, ...] = (a.shape[1], b.shape[0]) if self.turned else (b.shape[0], a.shape[1])
            if weight.numbers.shape != shape or not weight.is_float:
                raise TagsError(f"{self.checkpoint.path}: {module}: {list(a.shape)} and {list(b.shape)} do not fit a "
                                "weight "
                                f"{list(weight.numbers.shape)}")
            added[name] = LowRank(a, b, scale, self.turned)
        return added


def _read_config(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file, object_pairs_hook=_without_repeats)
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'is not JSON'}") from None
    if not isinstance(config, dict) or config.get("peft_type", "LORA") != "LORA":
        raise TagsError(f"{path}: only adapters with peft_type LORA are supported")
    for key in _UNSUPPORTED:
        if config.get(key) not in (None, False, [], {}):
            raise TagsError(f"{path}: uses {key}, which is not supported")
    start = config.get("init_lora_weights")
    if not isinstance(start, (str, bool, type(None))) or start not in _STARTS:
        raise TagsError(f"{path}: init_lora_weights is {start}, which may change the base weights")
    for key in ("r", "lora_alpha"):
        if not _is_number(config.get(key)):
            raise TagsError(f"{path}: {key} is no number above 0 that a weight could have")
    for patterns in ("rank_pattern", "alpha_pattern"):
        chosen = config.get(patterns) or {}
        if not isinstance(chosen, dict) or not all(_is_number(value) for value in chosen.values()):
            raise TagsError(f"{path}: {patterns} gives no numbers by module")
        for key in chosen:
            if _WILDCARDS.search(key):
                raise TagsError(f"{path}: has a pattern that is not supported: {key}")
    return config


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _LARGEST


def _chosen(patterns: Any, module: str, otherwise: float) -> float:
    for key, number in (patterns or {}).items():
        if module == key or module.endswith("." + key):
            return float(number)
    return float(otherwise)
