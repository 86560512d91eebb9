"""The module map: all paths of the module tree with class, own tensors and shared tensors."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

if TYPE_CHECKING:
    from torch import Tensor, nn


def class_name(module: "nn.Module") -> str:
    """A scripted module has a class of torch; its original class is stored separately."""
    return getattr(module, "original_name", None) or type(module).__name__


def qualified_name(module: "nn.Module") -> str:
    if getattr(module, "original_name", None):
        return str(module.original_name)
    return f"{type(module).__module__}.{type(module).__qualname__}"


def only_holds(module: "nn.Module") -> bool:
    """True for containers such as ModuleList and ModuleDict: they have no forward, so they are never called."""
    from torch import nn
    return not getattr(module, "original_name", None) and type(module).forward is nn.Module.forward


def all_paths(model: "nn.Module") -> Iterator[Tuple[str, "nn.Module"]]:
    """All paths, also further paths of a module that occurred before."""
    yield from model.named_modules(remove_duplicate=False)


def first_paths(model: "nn.Module") -> Dict[int, str]:
    """Maps the id of a module to the path under which it is recorded: the first path, as in the exporters."""
    return {id(module): path for path, module in model.named_modules()}


def join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def named_tensors(model: "nn.Module") -> List[Tuple[str, str, "Tensor"]]:
    """(kind, name, tensor) of parameters, buffers and plain tensor attributes, with their first names."""
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
    """The section `modules`, in the order of `named_modules`, without the facts that need a run."""
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
