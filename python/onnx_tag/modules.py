"""The module map: every path of the module tree with its class, its own tensors and what it shares."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

if TYPE_CHECKING:
    from torch import Tensor, nn


def class_name(module: "nn.Module") -> str:
    """A scripted module is of a class of torch's own; the class it was made from is kept apart."""
    return getattr(module, "original_name", None) or type(module).__name__


def qualified_name(module: "nn.Module") -> str:
    if getattr(module, "original_name", None):
        return str(module.original_name)
    return f"{type(module).__module__}.{type(module).__qualname__}"


def only_holds(module: "nn.Module") -> bool:
    """True for ModuleList, ModuleDict and the like: there is no forward, so it is never called."""
    from torch import nn
    return not getattr(module, "original_name", None) and type(module).forward is nn.Module.forward


def all_paths(model: "nn.Module") -> Iterator[Tuple[str, "nn.Module"]]:
    """Every path, also the second one to a module that was there before."""
    yield from model.named_modules(remove_duplicate=False)


def first_paths(model: "nn.Module") -> Dict[int, str]:
    """id of a module to the path under which it is recorded: the first, as the exporters have it."""
    return {id(module): path for path, module in model.named_modules()}


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def named_tensors(model: "nn.Module") -> List[Tuple[str, str, "Tensor"]]:
    """(kind, name, tensor) of parameters, buffers and plain tensor attributes, all under their first name."""
    import torch
    found: List[Tuple[str, str, "Tensor"]] = []
    seen = set()

    def add(kind: str, name: str, tensor: object) -> None:
        if isinstance(tensor, torch.Tensor) and id(tensor) not in seen:
            seen.add(id(tensor))
            found.append((kind, name, tensor))

    for name, parameter in model.named_parameters():
        add("parameter", name, parameter)
    for name, buffer in model.named_buffers():
        add("buffer", name, buffer)
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if not name.startswith("_"):
                add("attribute", join(path, name), value)
    return found


def module_map(model: "nn.Module") -> Dict[str, Dict[str, Any]]:
    """`modules` of the recording, in the order of `named_modules`, without what only a run can tell."""
    first = first_paths(model)
    owner: Dict[int, str] = {}
    modules: Dict[str, Dict[str, Any]] = {}
    for path, module in all_paths(model):
        entry: Dict[str, Any] = {"class": class_name(module), "qualified": qualified_name(module)}
        if only_holds(module):
            entry["container"] = True
        if first[id(module)] != path:
            entry["shared_with"] = first[id(module)]
        tied: Dict[str, str] = {}
        for kind, tensors in (("parameters", module.named_parameters(recurse=False)),
                              ("buffers", module.named_buffers(recurse=False))):
            shapes: Dict[str, List[int]] = {}
            for name, tensor in tensors:
                shapes[name] = list(tensor.shape)
                whole = owner.setdefault(id(tensor), join(path, name))
                if whole != join(path, name) and "shared_with" not in entry:
                    tied[name] = whole
            if shapes:
                entry[kind] = shapes
        if tied:
            entry["tied"] = tied
        modules[path] = entry
    return modules
