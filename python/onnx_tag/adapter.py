"""`python -m onnx_tag adapter`: an adapter of PEFT for a model with slots, in the format of ONNX Runtime."""
from __future__ import annotations

import argparse
import json
import math
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from .errors import InputError, TagsError
from .onnx_file import inputs as graph_inputs
from .outputs import Inputs, judge, write

if TYPE_CHECKING:
    from .arrays import Array

DESCRIPTION = """Writes an adapter of PEFT (adapter_config.json and adapter_model.safetensors) as a file that ONNX
Runtime adds to a model at run time. The model needs slots: onnx-tag weights MODEL --lora-slots QUERY."""
EXAMPLES = """examples:
  onnx-tag weights model.onnx --lora-slots 'component in (query, value)' -o slots.onnx
  python -m onnx_tag adapter my_adapter slots.onnx -o my.onnx_adapter

then:
  adapter = onnxruntime.LoraAdapter(); adapter.Load("my.onnx_adapter")
  options = onnxruntime.RunOptions(); options.add_active_adapter(adapter)
  session.run(None, inputs, options)

exit codes: 0 written; 2 wrong usage, or the adapter does not fit the model; 3 a file cannot be read;
4 the file could not be written
"""
# The rules of this file are those of src/uses/weights/lora.cc, which merges adapters.
_UNSUPPORTED = ("use_dora", "modules_to_save", "lora_bias", "layer_replication", "use_qalora",
                "trainable_token_indices", "alora_invocation_tokens", "use_bdlora", "arrow_config", "target_parameters",
                "kasa_config", "monteclora_config")
# Other ways may change the weights of the base, too.
_STARTS = (True, False, None, "gaussian", "orthogonal")
_WILDCARDS = re.compile(r"[\^$*+?()\[\]{}|\\]")
_PREFIX, _A, _B = "base_model.model.", ".lora_A.weight", ".lora_B.weight"
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_ELEMENTS = {1: "float32", 10: "float16", 11: "float64"}   # of TensorProto.DataType, as numpy names them


def _read_config(path: str) -> Dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'is not JSON'}") from None
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise TagsError(f"{path}: only adapters with peft_type LORA are supported")
    for key in _UNSUPPORTED:
        if config.get(key):
            raise TagsError(f"{path}: uses {key}, which is not supported")
    start = config.get("init_lora_weights")
    if start not in _STARTS:
        raise TagsError(f"{path}: init_lora_weights is {start}, which may change the base weights")
    for key in ("r", "lora_alpha"):
        if not isinstance(config.get(key), (int, float)):
            raise TagsError(f"{path}: {key} is no number")
    for patterns in ("rank_pattern", "alpha_pattern"):
        for key in config.get(patterns) or {}:
            if _WILDCARDS.search(key):
                raise TagsError(f"{path}: has a pattern that is not supported: {key}")
    return config


def _chosen(patterns: Any, module: str, otherwise: float) -> float:
    for key, number in (patterns or {}).items():
        if module == key or module.endswith("." + key):
            return float(number)
    return float(otherwise)


def _read_safetensors(path: str) -> "Dict[str, Array]":
    """Its tensors as float32 or float64."""
    import numpy as np
    tensors = {}
    try:
        with open(path, "rb") as file:
            data = file.read()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        for name, info in header.items():
            if name == "__metadata__":
                continue
            begin, end = info["data_offsets"]
            if info["dtype"] not in _DTYPES or not 0 <= begin <= end <= len(data) - 8 - size:
                raise ValueError(f"{name} has the type {info['dtype']}, or no place in the file")
            numbers = np.frombuffer(data[8 + size + begin:8 + size + end], _DTYPES[info["dtype"]])
            if info["dtype"] == "BF16":
                numbers = (numbers.astype("<u4") << 16).view("<f4")
            elif info["dtype"] == "F16":
                numbers = numbers.astype("<f4")
            tensors[name] = numbers.reshape(info["shape"])
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a .safetensors file: {error}") from None
    return tensors


def _pairs(tensors: "Dict[str, Array]", config: Dict[str, Any]) -> "Dict[str, Tuple[Array, Array]]":
    """By module: x A B is what the adapter adds."""
    pairs = {}
    for name, tensor in tensors.items():
        is_b = name.endswith(_B)
        if not name.startswith(_PREFIX) or not (is_b or name.endswith(_A)) or tensor.ndim != 2:
            raise TagsError(f"{name}: is no part of a plain LoRA")
        module = name[len(_PREFIX):-len(_A)]
        other = tensors.get(_PREFIX + module + (_A if is_b else _B))
        if other is None:
            raise TagsError(f"{name}: its other matrix is missing")
        if is_b:
            continue
        rank = _chosen(config.get("rank_pattern"), module, config["r"])
        if tensor.shape[0] < 1 or tensor.shape[0] != rank or other.shape[1:] != tensor.shape[:1]:
            raise TagsError(f"{module}: {list(tensor.shape)} and {list(other.shape)} are not of rank {rank:g}")
        alpha = _chosen(config.get("alpha_pattern"), module, config["lora_alpha"])
        pairs[module] = tensor.T, other.T * (alpha / (math.sqrt(rank) if config.get("use_rslora") else rank))
    if not pairs:
        raise TagsError("adds to no weight")
    return pairs


def _prefix(modules: List[str], slots: List[str]) -> str:
    """What the model puts before the modules of the adapter: it may be a wrapper around the adapter's model."""
    known = set(slots)
    ends = next((found for found in ([name[:-len(module)] for name in slots if f".{name}".endswith(f".{module}")]
                                     for module in modules) if found), [])
    fits = sorted((sum(prefix + module in known for module in modules), prefix) for prefix in ends)
    return fits[-1][1] if fits and (len(fits) == 1 or fits[-2][0] < fits[-1][0]) else ""


def make(folder: str, model: str) -> "Dict[str, Array]":
    """The arrays of the adapter in `folder`, by the inputs of `model` that take them."""
    import numpy as np
    config = _read_config(os.path.join(folder, "adapter_config.json"))
    try:
        pairs = _pairs(_read_safetensors(os.path.join(folder, "adapter_model.safetensors")), config)
    except TagsError as error:
        raise type(error)(f"{folder}: {error}" if not isinstance(error, InputError) else str(error)) from None
    slots = graph_inputs(model)
    prefix = _prefix(list(pairs), [name[:-len(_A)] for name in slots if name.endswith(_A)])
    arrays, missing = {}, []
    for module, matrices in pairs.items():
        for end, matrix, fixed in ((_A, matrices[0], 0), (_B, matrices[1], 1)):
            name = prefix + module + end
            if name not in slots:
                missing += [module] if end == _A else []
                continue
            element, dims = slots[name]
            rank = matrix.shape[1 - fixed]
            most = re.search(r"_max(\d+)$", str(dims[1 - fixed])) if len(dims) == 2 else None
            if len(dims) != 2 or dims[fixed] != matrix.shape[fixed] or element not in _ELEMENTS:
                raise TagsError(f"{module}: {list(matrix.shape)} does not fit the input {name} {dims} of {model}")
            if most is not None and rank > int(most[1]):
                raise TagsError(f"{module}: has rank {rank}; the slots of {model} are for {most[1]} or less")
            arrays[name] = np.ascontiguousarray(matrix.astype(_ELEMENTS[element]))
    if missing:
        shown = "".join(f"\n  {module}" for module in missing[:20])
        more = f"\n  and {len(missing) - 20} more" if len(missing) > 20 else ""
        raise TagsError(f"{model}: has no slots for {len(missing)} modules of {folder}{shown}{more}\n"
                        "  add them: onnx-tag weights MODEL --lora-slots QUERY")
    return arrays


def add_parser(commands: Any, formatter: Any) -> None:
    """The command line of `adapter`."""
    parser = commands.add_parser("adapter", help="write an adapter of PEFT for ONNX Runtime", description=DESCRIPTION,
                                 epilog=EXAMPLES, formatter_class=formatter)
    parser.add_argument("folder", metavar="PEFT_FOLDER", help="the adapter, as save_pretrained() writes it")
    parser.add_argument("model", metavar="MODEL", help="the model with slots")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="output file, such as a.onnx_adapter")
    parser.add_argument("--force", action="store_true", help="replace an existing file of any kind")


def run(options: argparse.Namespace) -> str:
    """Returns the line to print."""
    head = re.compile(b"....TORT", re.DOTALL)               # a flatbuffer with ONNX Runtime's mark
    files = Inputs()
    files.add_model(options.model, "the model")
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        files.add(os.path.join(options.folder, name), "the adapter")
    judge(options.output, files, head, options.force)
    arrays = make(options.folder, options.model)
    try:
        from onnxruntime import AdapterFormat, OrtValue
    except ImportError:
        raise TagsError("needs ONNX Runtime 1.20 or later: pip install onnxruntime") from None
    form = AdapterFormat()
    form.set_adapter_version(1)
    form.set_model_version(1)
    form.set_parameters({name: OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "adapter")
        form.export_adapter(made)
        with open(made, "rb") as file:
            write(options.output, file.read(), files, head, options.force)
    return f"{options.output}: {len(arrays) // 2} modules, {sum(array.nbytes for array in arrays.values())} bytes"
