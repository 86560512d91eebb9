"""What the source text of modelling files says about members that default configurations do not show.

Every `self.x = Class(...)` of a constructor is read, with `A(...) if y else B(...)`, lists of them, and the `if`
statements around it. Names are looked up in the imported module, so each is the class it stands for there.
"""
from __future__ import annotations

import ast
import inspect
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

from torch import nn

Made = Tuple[str, str]          # class, and its weight and bias: w, wb, or "" where that is not said


class Found(NamedTuple):
    made: Set[Made]
    sure: bool                  # assigned whichever way the constructor goes


def look_up(node: ast.expr, module: Any) -> Any:
    if isinstance(node, ast.Name):
        return getattr(module, node.id, None)
    if isinstance(node, ast.Attribute):
        return getattr(look_up(node.value, module), node.attr, None)
    return None


def made_by(value: ast.expr, module: Any) -> Optional[Found]:
    """The modules an expression can make; None if it is no such expression."""
    if isinstance(value, ast.Constant) and value.value is None:
        return Found(set(), False)
    if isinstance(value, ast.IfExp):
        both = [made_by(part, module) for part in (value.body, value.orelse)]
        known = [found for found in both if found]
        if not known:
            return None
        return Found(set().union(*(found.made for found in known)), all(found.sure for found in known))
    if isinstance(value, ast.Call):
        cls = look_up(value.func, module)
        if isinstance(cls, type) and issubclass(cls, nn.Module):
            bias = [word.value for word in value.keywords if word.arg == "bias"]
            own = ["wb"]
            if bias:
                fixed = isinstance(bias[0], ast.Constant)
                own = ["w", "wb"] if not fixed else ["wb"] if bias[0].value else ["w"]
            return Found({(f"{cls.__module__}.{cls.__qualname__}", kind) for kind in own}, True)
    return None


def in_list(value: ast.expr, module: Any) -> Optional[Found]:
    """Members of nn.ModuleList([A(...) for ...]) and nn.ModuleList([A(...), B(...)])."""
    if not (isinstance(value, ast.Call) and look_up(value.func, module) is nn.ModuleList and len(value.args) == 1):
        return None
    inside = value.args[0]
    if isinstance(inside, (ast.ListComp, ast.GeneratorExp)):
        return made_by(inside.elt, module)
    if isinstance(inside, ast.List) and inside.elts:
        found = [made_by(part, module) for part in inside.elts]
        if all(found):
            return Found(set().union(*(part.made for part in found if part)), True)
    return None


def assigned(body: List[ast.stmt], module: Any) -> Dict[str, Found]:
    out: Dict[str, Found] = {}

    def put(name: str, found: Found) -> None:
        old = out.get(name)
        out[name] = Found(old.made | found.made, old.sure or found.sure) if old else found

    for statement in body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                owner = target.value if isinstance(target, ast.Attribute) else None
                if isinstance(owner, ast.Name) and owner.id == "self":
                    items = in_list(statement.value, module)
                    if items:
                        put(target.attr + ".*", items)
                    found = None if items else made_by(statement.value, module)
                    if found:
                        put(target.attr, found)
        elif isinstance(statement, ast.If):
            branches = [assigned(way, module) for way in (statement.body, statement.orelse)
                        if not (way and isinstance(way[-1], ast.Raise))]
            for name in dict.fromkeys(name for branch in branches for name in branch):
                parts = [branch[name] for branch in branches if name in branch]
                put(name, Found(set().union(*(part.made for part in parts)),
                                len(parts) == len(branches) and all(part.sure for part in parts)))
        elif isinstance(statement, (ast.With, ast.For)):
            for name, found in assigned(statement.body, module).items():
                put(name, found)
    return out


def read_module(module: Any) -> List[List[Any]]:
    """[class, attribute, sure, [[child class, own], ...]] of every constructor in a module."""
    rows: List[List[Any]] = []
    for statement in ast.parse(inspect.getsource(module)).body:
        cls = getattr(module, statement.name, None) if isinstance(statement, ast.ClassDef) else None
        if not (isinstance(cls, type) and issubclass(cls, nn.Module) and cls.__module__ == module.__name__):
            continue
        for part in statement.body:
            if isinstance(part, ast.FunctionDef) and part.name == "__init__":
                for name, found in assigned(part.body, module).items():
                    if found.made:
                        rows.append([f"{cls.__module__}.{cls.__qualname__}", name, found.sure, sorted(found.made)])
    return rows
