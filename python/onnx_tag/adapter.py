"""`python -m onnx_tag adapter`: an adapter of PEFT for a model with slots, in the format of ONNX Runtime."""
from __future__ import annotations

import argparse
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List

from .errors import TagsError
from .onnx_file import inputs as graph_inputs
from .outputs import Inputs, judge, write

if TYPE_CHECKING:
    from .arrays import Array

DESCRIPTION = """Writes an adapter of PEFT (adapter_config.json and adapter_model.safetensors or .bin) as a file that
ONNX
Runtime adds to a model at run time. The model needs slots: python -m onnx_tag refit MODEL --slots QUERY."""
EXAMPLES = """examples:
  python -m onnx_tag refit model.onnx --slots 'component in (query, value)' -o slots.onnx
  python -m onnx_tag adapter my_adapter slots.onnx -o my.onnx_adapter

then:
  adapter = onnxruntime.LoraAdapter(); adapter.Load("my.onnx_adapter")
  options = onnxruntime.RunOptions(); options.add_active_adapter(adapter)
  session.run(None, inputs, options)

exit codes: 0 written; 2 wrong usage, or the adapter does not fit the model; 3 a file cannot be read;
4 the file could not be written
"""
_A, _B = ".lora_A.weight", ".lora_B.weight"
_ELEMENTS = {1: "float32", 10: "float16", 11: "float64"}   # of TensorProto.DataType, as numpy names them


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

    from .refitting.lora import Adapter
    pairs = {module: (pair.a.T, pair.b.T * pair.scale) for module, pair in Adapter(folder).pairs.items()}
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
                        "  add them: python -m onnx_tag refit MODEL --slots QUERY")
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
    for name in ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"):
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
