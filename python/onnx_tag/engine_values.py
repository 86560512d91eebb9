"""Values that another engine computed for the outputs of a tapped model, as one side of a comparison.

`onnx-tag tap` makes the outputs of modules outputs of the graph; any engine can run that file. Its values are an .npz
by the names of the outputs, a Polygraphy JSON, or a folder of .npy or raw files, whose names may have `_` for other
characters.
"""
from __future__ import annotations

import base64
import io
import json
import os
import re
from typing import TYPE_CHECKING, Any, Dict, Mapping, Sequence, Tuple

from .arrays import LIMIT, open_regular, read_npy, read_npz
from .errors import InputError
from .onnx_side import FoundValues, OnnxSide, _found

if TYPE_CHECKING:
    import numpy as np
    Array = np.ndarray[Any, Any]


def are_values(path: str) -> bool:
    """Whether B is a file or a folder of values."""
    return os.path.isdir(path) or path.endswith((".npz", ".json"))


class EngineSide(OnnxSide):
    """A tapped model whose values another engine computed."""

    def __init__(self, model: str, values: str, words: Sequence[str] = (), hierarchy: Any = None) -> None:
        super().__init__(model, words, False, hierarchy)
        self.name = values
        self._model = model
        self.arrays = self._read(values)
        # A new output is an Identity of the value in the graph.
        for node in reversed(self.graph.nodes):
            if node.op == "Identity" and node.outputs and node.outputs[0] in self.arrays:
                self.arrays.setdefault(node.inputs[0], self.arrays[node.outputs[0]])

    def session(self, values: Any = (), given: Mapping[str, int] = {}) -> Any:
        name, self.name = self.name, self._model
        try:
            return super().session(values, given)
        finally:
            self.name = name

    def run(self, modules: Sequence[str], inputs: Mapping[str, Any]) -> "Tuple[FoundValues, FoundValues]":
        outputs = {module: self.by_module.get(module, []) for module in modules}
        given = {module: self.given(module) if module else [] for module in modules}
        return _found(outputs, self.arrays), _found(given, self.arrays)

    def _read(self, path: str) -> "Dict[str, Array]":
        if path.endswith(".npz"):
            arrays = read_npz(path)
        elif path.endswith(".json"):
            arrays = read_polygraphy(path)
        else:
            arrays = self._read_folder(path)
        wanted = {value.name for value in self.session().get_outputs()}
        found = {name: array for name, array in arrays.items() if name in wanted}
        if not found:
            raise InputError(f"{path}: has none of the {len(wanted)} outputs of {self._model}\n"
                             "  --model must be the tapped model that the engine ran")
        return found

    def _read_folder(self, folder: str) -> "Dict[str, Array]":
        import numpy as np
        kinds = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
                 "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
        try:
            names = sorted(os.listdir(folder))
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}") from None
        files = {os.path.splitext(name)[0]: os.path.join(folder, name) for name in names
                 if name.endswith((".npy", ".raw", ".bin"))}
        arrays = {}
        for value in self.session().get_outputs():
            path = files.get(value.name) or files.get(re.sub(r"\W", "_", value.name))
            if path is None:
                continue
            if path.endswith(".npy"):
                arrays[value.name] = _read_npy_file(path)
                continue
            kind = np.dtype(kinds.get(value.type, np.float32))
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                if size > LIMIT or size % kind.itemsize:
                    raise InputError(f"{path}: {size} bytes, " + (f"more than {LIMIT >> 30} GiB" if size > LIMIT
                                                                  else f"no whole number of {kind.name}"))
                data: "Array" = np.frombuffer(file.read(size), kind)
            sizes = [size if isinstance(size, int) else -1 for size in value.shape]
            try:
                arrays[value.name] = data.reshape(sizes)
            except ValueError:
                raise InputError(f"{path}: {data.size} numbers, which do not fit the shape {value.shape} of "
                                 f"{value.name!r}\n  export the model with fixed shapes, or write .npy files") from None
        return arrays


def _read_npy_file(path: str) -> "Array":
    with open_regular(path) as file:
        try:
            return read_npy(file, LIMIT)[0]
        except Exception as error:      # numpy raises several kinds for damaged files
            raise InputError(f"{path}: not an .npy file: {error}") from None


def read_polygraphy(path: str) -> "Dict[str, Array]":
    """The outputs of the first run of the first runner: `polygraphy run ... --save-outputs FILE`."""
    try:
        with open_regular(path) as file:
            outputs = json.load(file)["lst"][0][1][0]["outputs"]
        return {name: read_npy(io.BytesIO(base64.b64decode(value["values"]["array"])), LIMIT)[0]
                for name, value in outputs.items()}
    except InputError:
        raise
    except Exception as error:      # json and numpy raise a dozen kinds for damaged files
        raise InputError(f"{path}: not a file of outputs of Polygraphy: {error}\n"
                         "  write one with: polygraphy run tapped.onnx ... --save-outputs FILE.json") from None
