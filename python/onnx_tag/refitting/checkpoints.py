"""Checkpoints: `.safetensors`, an index of several, or what `torch.save()` wrote. Files are mapped, not read."""
from __future__ import annotations

import json
import os
import zipfile
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from ..errors import InputError, TagsError

if TYPE_CHECKING:
    from ..arrays import Array

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}
_FLOATS = ("F64", "F32", "F16", "BF16")
_MOST_HEADER = 100_000_000
_MOST_PICKLE = 1 << 20


class Parameter(NamedTuple):
    """`kind` is the type as safetensors names it; numbers of BF16 are the upper halves of float32."""
    kind: str
    numbers: "Array"
    file: str = ""
    at: int = 0

    @property
    def is_float(self) -> bool:
        return self.kind in _FLOATS

    def floats(self) -> Array:
        if self.kind == "BF16":
            return (self.numbers.astype(np.uint32) << 16).view(np.float32)
        return self.numbers.astype(np.float32, copy=False)


class Checkpoint:
    def __init__(self, path: str) -> None:
        self.path = os.fspath(path)
        self.files: List[str] = []
        self.parameters: Dict[str, Parameter] = dict(self._read(self.path))
        self._marks = [_mark(name) for name in self.files]

    def check_unchanged(self) -> None:
        if [_mark(name) for name in self.files] != self._marks:
            raise InputError(f"{self.path}: changed while it was read")

    def _read(self, path: str) -> Iterator[Tuple[str, Parameter]]:
        try:
            with open(path, "rb") as file:
                head = file.read(9)
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        self.files.append(path)
        if path.endswith(".json"):
            yield from self._read_index(path)
        elif head[8:] != b"{" and (head[:2] == b"PK" or head[:1] == b"\x80"):
            yield from _read_torch(path)
        else:
            yield from read_safetensors(path)

    def _read_index(self, path: str) -> Iterator[Tuple[str, Parameter]]:
        try:
            with open(path, encoding="utf-8") as file:
                places = json.load(file)["weight_map"]
            names = sorted({os.path.basename(name) for name in places.values()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{path}: not an index of .safetensors files: it has no weight_map") from None
        for name in names:
            part = os.path.join(os.path.dirname(path), name)
            self.files.append(part)
            for key, parameter in read_safetensors(part):
                if places.get(key) == name:
                    yield key, parameter


def _mark(path: str) -> "Optional[Tuple[int, int, int]]":
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _without_repeats(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def read_safetensors(path: str) -> Iterator[Tuple[str, Parameter]]:
    """Every size and offset is checked first."""
    try:
        whole = os.path.getsize(path)
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if whole < 8 or size > min(whole - 8, _MOST_HEADER):
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(size), object_pairs_hook=_without_repeats)
        rows = []
        for name, info in header.items():
            if name == "__metadata__":
                continue
            begin, end = info["data_offsets"]
            dtype, shape = np.dtype(DTYPES[info["dtype"]]), [int(dim) for dim in info["shape"]]
            count = 1
            for dim in shape:
                count *= dim
            if min(shape, default=0) < 0 or not 0 <= begin <= end <= whole - 8 - size or \
                    end - begin != count * dtype.itemsize:
                raise ValueError(f"{name} has no place in the file")
            rows.append((begin, end, name, info["dtype"], dtype, shape))
        last = 0
        for begin, end, name, *_ in sorted(rows):
            if begin < last:
                raise ValueError(f"{name} overlaps another tensor")
            last = max(last, end)
        data = np.memmap(path, np.uint8, "r") if whole > 8 + size else np.zeros(whole, np.uint8)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: not a .safetensors file: {error}") from None
    for begin, end, name, kind, dtype, shape in rows:
        at = 8 + size + begin
        yield name, Parameter(kind, data[at:8 + size + end].view(dtype).reshape(shape), path, at)


def _refuse_large_pickle(path: str) -> None:
    """A pickle takes hundreds of times its size in memory; that of a state dict has few bytes for each tensor."""
    try:
        if not zipfile.is_zipfile(path):
            raise InputError(f"{path}: is of torch 1.5 or older\n  load it with torch and save it again")
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
        size = sum(entry.file_size for entry in entries if entry.filename.endswith("data.pkl"))
        tensors = sum("/data/" in entry.filename for entry in entries)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: not a checkpoint: {error}") from None
    if size > _MOST_PICKLE + 1024 * tensors:
        raise InputError(f"{path}: its pickle has {size} bytes for {tensors} tensors, so it is no state dict")


def _read_torch(path: str) -> Iterator[Tuple[str, Parameter]]:
    _refuse_large_pickle(path)
    try:
        import torch
    except ImportError:
        raise TagsError(f"{path}: needs torch; or save it as .safetensors") from None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:                              # noqa: BLE001 - torch raises many kinds
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{path}: torch.load(weights_only=True) refuses it: {said[0][:200]}") from None
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    kinds = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
             torch.int64: "I64",
             torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise InputError(f"{path}: holds no state dict")
    for name, tensor in state.items():
        if tensor.dtype not in kinds or tensor.is_sparse:
            raise InputError(f"{path}: {name} is a tensor of a kind that is not supported")
        tensor = tensor.detach()
        if tensor.dtype == torch.bfloat16:
            tensor = tensor.view(torch.int16)
        numbers = tensor.numpy()
        yield str(name), Parameter(kinds[state[name].dtype], numbers.view(np.uint16) if numbers.dtype == np.int16 and
                                   kinds[state[name].dtype] == "BF16" else numbers)
