"""Identifies tensors: gives numbers to the values that flow between operations.

A tensor is known by its object. Views lose theirs on the way back through autograd (it makes a new object around the
same memory), so a tensor that is not known by its object is looked up by its memory: storage, offset, shape, strides.
A weak reference to each storage keeps its key from being used again, so that no tensor is taken for one that is gone.
Writing in place makes a new value; who reads the same memory through another tensor afterwards gets a value that
says so (`merges`).
"""
from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from torch.multiprocessing.reductions import StorageWeakRef

if TYPE_CHECKING:
    from torch import Tensor

Layout = Tuple[Any, ...]


def dtype_name(dtype: object) -> str:
    return str(dtype).replace("torch.", "", 1)


def storage_of(tensor: "Tensor") -> Any:
    """The storage, which views share; None for tensors without one (such as sparse tensors)."""
    try:
        anything: Any = tensor
        if hasattr(anything, "untyped_storage"):
            return anything.untyped_storage()
        return anything.storage()._untyped()
    except (RuntimeError, NotImplementedError, AttributeError):
        return None


def _layout(tensor: "Tensor") -> Layout:
    return (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype)


class _Memory:
    """The facts about one storage: its values and the writes to it.

    Writes are counted here, since torch's own counter is shared with a view only after the operation has returned.
    """

    def __init__(self, storage: Any) -> None:
        self.reference = StorageWeakRef(storage)  # type: ignore[no-untyped-call]
        self.layouts: Dict[Layout, Tuple[int, int]] = {}
        self.writes = 0
        self.last_written = -1


class Values:
    """The value table of a recording; finds the number of a tensor."""

    def __init__(self) -> None:
        self.table: List[Dict[str, Any]] = []
        self._objects: Dict[int, Tuple["weakref.ref[Tensor]", int, int]] = {}
        self._memories: Dict[int, _Memory] = {}
        self._held: List["Tensor"] = []

    def name(self, tensor: "Tensor", kind: str, name: str) -> int:
        """Adds a value that exists before the first operation: an input or a parameter."""
        self._held.append(tensor)
        return self._new(tensor, kind=kind, name=name)

    def size(self, tensor: "Tensor", of: int, axis: int, call: Optional[int]) -> int:
        """Adds a size that a tracer turned into a tensor."""
        return self._new(tensor, kind="size", of=of, axis=axis, call=call)

    def read(self, tensor: "Tensor") -> int:
        memory = self._memory(tensor)
        known = self._find(tensor, memory)
        if known is None:
            return self._new(tensor, kind="constant")
        value, writes = known
        if memory is None or memory.writes == writes:
            return value
        return self._new(tensor, merges=[value, memory.last_written])

    def made(self, tensor: "Tensor") -> int:
        """Adds a result of an operation."""
        return self._new(tensor)

    def written(self, tensor: "Tensor") -> int:
        """Adds a value that an operation wrote in place."""
        memory = self._memory(tensor)
        if memory is None:
            return self._new(tensor)
        memory.writes += 1
        memory.last_written = self._new(tensor)
        return memory.last_written

    def _new(self, tensor: "Tensor", **more: object) -> int:
        value = len(self.table)
        self.table.append({"dtype": dtype_name(tensor.dtype), "shape": [int(d) for d in tensor.shape], **more})
        memory = self._memory(tensor)
        writes = memory.writes if memory else 0
        self._objects[id(tensor)] = (weakref.ref(tensor), value, writes)
        if memory:
            memory.layouts[_layout(tensor)] = (value, writes)
        return value

    def _memory(self, tensor: "Tensor") -> Optional[_Memory]:
        storage = storage_of(tensor)
        if storage is None:
            return None
        key = int(storage._cdata)
        if key not in self._memories:
            self._memories[key] = _Memory(storage)
        return self._memories[key]

    def _find(self, tensor: "Tensor", memory: Optional[_Memory]) -> Optional[Tuple[int, int]]:
        known = self._objects.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1], known[2]
        found = memory.layouts.get(_layout(tensor)) if memory else None
        if found is not None:
            self._objects[id(tensor)] = (weakref.ref(tensor), *found)
        return found
