"""Records a run of a model: the active module, the dispatched operations and their tensors.

Three means, all of torch's own and all undone at the end: hooks before and after `forward` of every module, a
TorchDispatchMode that sees every operation that is really run, and a TorchFunctionMode that sees which function of the
Python interface asked for it.
"""
from __future__ import annotations

import contextlib
import inspect
import math
import sys
import threading
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from .modules import first_paths, module_map, named_tensors
from .tracebacks import Tracebacks
from .values import Values, dtype_name

if TYPE_CHECKING:
    from types import FrameType

    from torch import Tensor, nn


def tensors_in(value: object) -> Iterator["Tensor"]:
    """All tensors of nested lists, tuples, mappings and dataclass-like outputs, in order."""
    for _, tensor in named_leaves("", value):
        yield tensor


def named_leaves(name: str, value: object) -> Iterator[Tuple[str, "Tensor"]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from named_leaves(f"{name}.{key}" if name else str(key), item)
    elif isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or range(len(value))
        for key, item in zip(names, value):
            yield from named_leaves(f"{name}.{key}" if name else str(key), item)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, torch.nn.Module)) and not callable(value):
        for key, item in vars(value).items():
            if isinstance(item, (torch.Tensor, list, tuple, dict)):
                yield from named_leaves(f"{name}.{key}" if name else str(key), item)


def constant(value: object) -> object:
    """A Python argument as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if type(value).__name__ in ("SymInt", "SymFloat", "SymBool"):
        return str(value)
    if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format)):
        return dtype_name(value)
    if isinstance(value, (list, tuple)):
        return [constant(item) for item in value]
    return type(value).__name__


class _Alone(contextlib.ContextDecorator):
    """One recording at a time: hooks, eval mode and the tracer belong to the model and to torch, not to a thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


alone = _Alone()


def _caller_of_forward() -> Optional["FrameType"]:
    """The frame that called the module whose hook is running: the first one outside of torch and of this file."""
    frame: Optional["FrameType"] = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or
                                 frame.f_code.co_filename == torch.nn.modules.module.__file__):
        frame = frame.f_back
    return frame


_tracer: Any = torch._C
# Under a tracer a size is a tensor, made without dispatching anything.
_SIZES = ("torch.Tensor.shape.__get__", "torch.Tensor.size")


class _Dispatched(TorchDispatchMode):
    def __init__(self, recorder: "Recorder") -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        return self.recorder._dispatched(func, tuple(args), kwargs or {})


class _Functions(TorchFunctionMode):
    def __init__(self, recorder: "Recorder") -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        return self.recorder._function(func, tuple(args), kwargs or {})


class Recorder:
    """Records the operations of the model inside the `with` block:

        with Recorder(model) as recorder:
            model(x)
            model.encoder(y)            # also parts, and several runs
        recorder.document()             # the recording as a dictionary

    Another thread that records waits until the block ends. Calls of the model by other threads are not recorded.
    """

    def __init__(self, model: "nn.Module") -> None:
        self.model = model
        self.modules = module_map(model)
        self.values = Values()
        self.calls: List[Dict[str, Any]] = []
        self.functions: List[Dict[str, Any]] = []
        self.events: List[Dict[str, Any]] = []
        self.inputs: List[Dict[str, Any]] = []
        self.outputs: List[Dict[str, Any]] = []
        self.tracebacks = Tracebacks()
        self._outside: Optional[FrameType] = None           # the frame that called the outermost module
        self._paths = first_paths(model)
        self._times: Dict[str, int] = {}
        self._stack: List[int] = []
        self._asked = False
        self._undo = contextlib.ExitStack()
        self._paused = False
        self._thread = 0                                    # that of the `with` block
        self.mode = "eager"
        for kind, name, tensor in named_tensors(model):
            self.values.name(tensor, kind, name)

    # ------------------------------------------------------------ entering and leaving
    def __enter__(self) -> "Recorder":
        self._undo = contextlib.ExitStack()
        self._undo.enter_context(alone)
        self._thread = threading.get_ident()
        try:
            for module in self.model.modules():
                self._hook(module)
            self._undo.enter_context(_Dispatched(self))
            self._undo.enter_context(_Functions(self))
        except BaseException:
            self._undo.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()
        self._stack.clear()
        self._asked = False
        self._outside = None

    def _hook(self, module: "nn.Module") -> None:
        def before(_: "nn.Module", args: object) -> None:
            if threading.get_ident() == self._thread:
                self._begin(module)

        def after(_: "nn.Module", args: object, output: object) -> None:
            if threading.get_ident() == self._thread:
                self._end(module)

        try:
            self._undo.callback(module.register_forward_pre_hook(before).remove)
        except RuntimeError:                                # parts of scripted models take none: they run unseen
            return
        try:                                                # also when forward raises and somebody catches it
            handle = module.register_forward_hook(after, always_call=True)
        except TypeError:                                   # torch before 2.0
            handle = module.register_forward_hook(after)
        self._undo.callback(handle.remove)

    # ------------------------------------------------------------ modules
    def _begin(self, module: "nn.Module") -> None:
        path = self._paths[id(module)]
        number = self._times.get(path, 0)
        self._times[path] = number + 1
        self.modules[path].setdefault("order", len(self.calls))
        self.modules[path]["calls"] = number + 1
        if not self._stack:
            self._outside = _caller_of_forward()
        self._stack.append(len(self.calls))
        call = {"module": path, "number": number, "parent": self._stack[-2] if len(self._stack) > 1 else None}
        self._add_place(call)
        self.calls.append(call)

    def _add_place(self, entry: Dict[str, Any]) -> None:
        """Where in the code of the model this happens."""
        if not self._stack:
            return
        number = self.tracebacks.here(sys._getframe(1), self._outside)
        if number is not None:
            entry["traceback"] = number

    def _end(self, module: "nn.Module") -> None:
        path = self._paths[id(module)]
        for depth in reversed(range(len(self._stack))):     # deeper ones were left by an exception
            if self.calls[self._stack[depth]]["module"] == path:
                del self._stack[depth:]
                return

    # ------------------------------------------------------------ operations
    def _function(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        if self._asked or self._paused:
            return func(*args, **kwargs)
        start = len(self.events)
        with self._untraced():
            # Before the call: writing in place gives the arguments new numbers.
            inputs = [self.values.read(t) for t in tensors_in([args, kwargs])]
        self._asked = True
        try:
            result = func(*args, **kwargs)
        finally:
            self._asked = False
        with self._untraced():
            self._answered(func, inputs, result, start)
        return result

    def _answered(self, func: Any, inputs: List[int], result: Any, start: int) -> None:
        if len(self.events) > start:
            number = len(self.functions)
            outputs = [self.values.read(t) for t in tensors_in(result)]
            self.functions.append({"name": self._function_name(func), "call": self._call(), "inputs": inputs,
                                   "outputs": outputs, "events": [start, len(self.events)]})
            for event in self.events[start:]:
                event["function"] = number
        elif self.mode == "traced" and inputs and self._function_name(func) in _SIZES:
            for axis, tensor in enumerate(tensors_in(result)):
                self.values.size(tensor, inputs[0], axis, self._call())

    def _dispatched(self, func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        if self._paused:
            return func(*args, **kwargs)
        call = self._call()
        with self._unseen():
            event: Dict[str, Any] = {"op": str(func), "call": call, "inputs": [self._argument(a) for a in args],
                                     "module": self.calls[call]["module"] if call is not None else None}
            self._add_place(event)
            if kwargs:
                event["kwargs"] = {name: self._argument(a) for name, a in kwargs.items()}
            before = list(tensors_in([args, kwargs]))
            changed = self._written(func, args, kwargs)
        result = func(*args, **kwargs)
        with self._unseen():
            results = list(tensors_in(result))
            event["outputs"] = [self._result(t, before, changed) for t in results]
            writes = [self.values.written(t) for t in changed if not any(t is r for r in results)]
            if writes:
                event["writes"] = writes
        self.events.append(event)
        return result

    @contextlib.contextmanager
    def _unseen(self) -> Iterator[None]:
        """Inspecting a tensor calls functions of torch. They must not be recorded."""
        paused, self._paused = self._paused, True
        try:
            yield
        finally:
            self._paused = paused

    @contextlib.contextmanager
    def _untraced(self) -> Iterator[None]:
        """The same, and also suspends an active tracer, which works above the dispatcher."""
        tracing = _tracer._get_tracing_state()
        if tracing is not None:
            _tracer._set_tracing_state(None)
        try:
            with self._unseen():
                yield
        finally:
            if tracing is not None:
                _tracer._set_tracing_state(tracing)

    def _result(self, tensor: "Tensor", before: List["Tensor"], changed: List["Tensor"]) -> int:
        if any(tensor is t for t in changed):
            return self.values.written(tensor)
        if any(tensor is t for t in before):
            return self.values.read(tensor)
        return self.values.made(tensor)

    @staticmethod
    def _written(func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List["Tensor"]:
        """The arguments that the operation writes to, according to its schema."""
        schema = getattr(func, "_schema", None)
        if schema is None:
            return []
        found: List["Tensor"] = []
        for position, argument in enumerate(schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                value = args[position] if position < len(args) else kwargs.get(argument.name)
                found.extend(tensors_in(value))
        return found

    def _argument(self, value: Any) -> Any:
        """A number is a value, null is None, a list is a list of tensors, anything else is a constant."""
        if value is None:
            return None
        if isinstance(value, torch.Tensor):
            return self.values.read(value)
        if isinstance(value, (list, tuple)) and any(isinstance(item, torch.Tensor) for item in value):
            return [self._argument(item) for item in value]
        return {"const": constant(value)}

    def _call(self) -> Optional[int]:
        return self._stack[-1] if self._stack else None

    @staticmethod
    def _function_name(func: Any) -> str:
        try:
            name = resolve_name(func)
        except Exception:                                   # a table of torch's own: a miss is no failure of ours
            name = None
        return str(name or getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or func)

    # ------------------------------------------------------------ a run
    def run(self, args: Sequence[Any] = (), kwargs: Optional[Mapping[str, Any]] = None) -> Any:
        """Calls the model inside the `with` block and stores its inputs and outputs."""
        named = dict(kwargs or {})
        with self._untraced():
            for name, tensor in named_leaves("", self._by_name(tuple(args), named)):
                self.inputs.append({"name": name, "value": self.values.name(tensor, "input", name)})
        result = self.model(*args, **named)
        with self._untraced():
            for name, tensor in named_leaves("", result):
                self.outputs.append({"name": name or "output", "value": self.values.read(tensor)})
        return result

    def _by_name(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
        try:
            bound = inspect.signature(self.model.forward).bind(*args, **kwargs)
        except (TypeError, ValueError):
            return {**{f"input.{i}": a for i, a in enumerate(args)}, **kwargs}
        return dict(bound.arguments)

    def document(self) -> Dict[str, Any]:
        """The sections of a run; only `modules` if nothing ran."""
        sections: Dict[str, Any] = {"modules": self.modules}
        if self.events or self.calls:
            sections["run"] = {"mode": self.mode}
            sections.update(inputs=self.inputs, outputs=self.outputs, values=self.values.table, calls=self.calls,
                            functions=self.functions, events=self.events)
        if self.tracebacks.texts:
            sections["tracebacks"] = self.tracebacks.texts
        return sections
