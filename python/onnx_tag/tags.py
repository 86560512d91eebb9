"""Reads the tags of a model: the module of a node, the attention nodes of layer 3, the nn.Module object of a node.

    tags = Tags.load("model.tags.json")
    tags.module_of("/encoder/layer.0/attention/self/query/MatMul")
    tags.find(type="attention", component="query", layer=0)
    tags.bind(model).module(node)           # the live nn.Module

Needs nothing but Python; `bind` takes any object with `named_modules`.
"""
from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple, Union

PathLike = Union[str, "os.PathLike[str]"]
CONFIDENCE = ("low", "medium", "high", "certain")


class TagsError(Exception):
    """The sidecar or a request is invalid. The message says what to do."""


@dataclass(frozen=True)
class Node:
    """One node of the ONNX file; `module` is None if the node is untagged."""
    graph: str
    index: int
    name: str
    op: str
    domain: str
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    module: Optional[str]
    class_name: Optional[str]
    hierarchy_tag: Optional[str]
    type: Optional[str]
    component: Optional[str]
    attention_kind: Optional[str]
    layer: Optional[int]
    confidence: Optional[str]
    source: Optional[str]
    origins: Tuple[str, ...]

    @property
    def id(self) -> str:
        """The form of the command line: `#17`, `12:then_branch#3`."""
        return f"{self.graph}#{self.index}"

    @staticmethod
    def from_json(entry: Dict[str, Any]) -> "Node":
        role = entry.get("semantic") or {}
        return Node(entry["graph"], entry["index"], entry["name"], entry["op"], entry.get("domain", ""),
                    tuple(entry.get("inputs", ())), tuple(entry.get("outputs", ())), entry["module"],
                    entry.get("class"), entry.get("hierarchy_tag"), role.get("type"), role.get("component"),
                    role.get("attention_kind"), role.get("layer"), entry.get("confidence"), entry.get("source"),
                    tuple(entry.get("origins", ())))


@dataclass(frozen=True)
class Module:
    """One module of the tree; the root's path is empty."""
    path: str
    class_name: Optional[str]
    class_confidence: Optional[str]
    hierarchy_tag: str
    role_path: str
    nodes: int
    total_nodes: int

    @staticmethod
    def from_json(entry: Dict[str, Any]) -> "Module":
        return Module(entry["path"], entry.get("class"), entry.get("class_confidence"), entry.get("hierarchy_tag", ""),
                      entry.get("role_path", ""), entry.get("nodes", 0), entry.get("total_nodes", 0))


NodeKey = Union[Node, int, str]


def is_under(path: str, ancestor: str) -> bool:
    """Whether it is the module itself or a submodule."""
    return not ancestor or path == ancestor or path.startswith(ancestor + ".")


class Tags:
    """The tags of one model, from the sidecar that `onnx-tag` writes."""

    def __init__(self, document: Dict[str, Any], name: str = "<sidecar>") -> None:
        if not isinstance(document, dict) or not str(document.get("format", "")).startswith("onnx-tag/"):
            raise TagsError(f"{name}: not a sidecar of onnx-tag; write one with: onnx-tag model.onnx --sidecar-only")
        if document["format"] != "onnx-tag/1":
            raise TagsError(f"{name}: the format is {document['format']!r}, but this version reads 'onnx-tag/1'")
        self.name = name
        self.document = document
        self.nodes: List[Node] = [Node.from_json(entry) for entry in document["nodes"]]
        self.modules: Dict[str, Module] = {m["path"]: Module.from_json(m) for m in document["modules"]}
        self._at = {(node.graph, node.index): node for node in self.nodes}
        self._named: Dict[str, List[Node]] = {}
        self._making: Dict[str, List[Node]] = {}
        for node in self.nodes:
            self._named.setdefault(node.name, []).append(node)
            for output in node.outputs:
                self._making.setdefault(output, []).append(node)

    @staticmethod
    def load(path: PathLike) -> "Tags":
        name = os.fspath(path)
        with open(name, encoding="utf-8") as file:
            try:
                document = json.load(file)
            except ValueError as error:
                raise TagsError(f"{name}: not JSON: {error}") from None
        return Tags(document, name)

    # ------------------------------------------------------------ one node
    def node(self, key: NodeKey) -> Node:
        """Finds a node by index in the main graph (17), by `#17` or `12:then_branch#3`, by name, or by `output=…`."""
        if isinstance(key, Node):
            return key
        if isinstance(key, int):
            return self._by_place("", key)
        graph, hash_, index = key.rpartition("#")
        if hash_ and index.isdigit() and (graph, int(index)) in self._at:
            return self._by_place(graph, int(index))
        kind, equals, value = key.partition("=")
        if equals and kind in ("name", "output"):
            return self._only((self._named if kind == "name" else self._making).get(value, []), key)
        return self._only(self._named.get(key, []) if key else [], key)

    def _by_place(self, graph: str, index: int) -> Node:
        found = self._at.get((graph, index))
        if found is None:
            raise KeyError(f"{self.name}: no node {graph}#{index}")
        return found

    def _only(self, found: List[Node], key: str) -> Node:
        if not found:
            raise KeyError(f"{self.name}: no node {key!r}")
        if len(found) > 1:
            some = ", ".join(node.id for node in found[:8])
            raise KeyError(f"{self.name}: {len(found)} nodes match {key!r}; choose one: {some}")
        return found[0]

    def module_of(self, node: NodeKey) -> Optional[str]:
        """The path of the module: empty for the root, None for an untagged node."""
        return self.node(node).module

    # ------------------------------------------------------------ many nodes
    def find(self, *, type: Optional[str] = None, component: Optional[str] = None, layer: Optional[int] = None,
             attention: Optional[str] = None, module: Optional[str] = None, under: Optional[str] = None,
             class_name: Optional[str] = None, op: Optional[str] = None, name: Optional[str] = None,
             min_confidence: Optional[str] = None, source: Optional[str] = None,
             untagged: Optional[bool] = None) -> List[Node]:
        """Nodes that match all conditions, in file order.

        `module` is exact and `under` takes the whole subtree; `class_name` is the class of the node's own module;
        `name` may hold `*` and `?`.
        """
        if min_confidence is not None and min_confidence not in CONFIDENCE:
            raise TagsError(f"invalid min_confidence {min_confidence!r}; valid values: {', '.join(CONFIDENCE)}")
        exact = {"type": type, "component": component, "layer": layer, "attention_kind": attention, "module": module,
                 "class_name": class_name, "op": op, "source": source}
        wanted = {field: value for field, value in exact.items() if value is not None}

        def fits(node: Node) -> bool:
            if any(getattr(node, field) != value for field, value in wanted.items()):
                return False
            if under is not None and (node.module is None or not is_under(node.module, under)):
                return False
            if name is not None and not fnmatchcase(node.name, name):
                return False
            if untagged is not None and (node.module is None) != untagged:
                return False
            return min_confidence is None or (
                node.confidence is not None
                and CONFIDENCE.index(node.confidence) >= CONFIDENCE.index(min_confidence))

        return [node for node in self.nodes if fits(node)]

    def attention(self, layer: Optional[int] = None, kind: Optional[str] = None) -> List[Node]:
        """The attention nodes of one layer, or of all layers; `kind`: self or cross."""
        return self.find(type="attention", layer=layer, attention=kind)

    def by_class(self, class_name: str) -> List[Node]:
        """All nodes of modules of that class, including their submodules."""
        roots = {path for path, module in self.modules.items() if module.class_name == class_name}
        inside: Dict[str, bool] = {}
        return [node for node in self.nodes if node.module is not None and self._inside(node.module, roots, inside)]

    @staticmethod
    def _inside(path: str, roots: Set[str], known: Dict[str, bool]) -> bool:
        if path not in known:
            atoms = path.split(".") if path else []
            known[path] = any(".".join(atoms[:i]) in roots for i in range(len(atoms) + 1))
        return known[path]

    def classes(self) -> Dict[str, List[str]]:
        """Maps each class to the paths of its modules."""
        found: Dict[str, List[str]] = {}
        for path, module in self.modules.items():
            if module.class_name is not None:
                found.setdefault(module.class_name, []).append(path)
        return found

    def layers(self) -> List[int]:
        return sorted({node.layer for node in self.nodes if node.layer is not None})

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        tagged = sum(node.module is not None for node in self.nodes)
        return f"<Tags {self.name}: {tagged} of {len(self.nodes)} nodes tagged, {len(self.modules)} modules>"

    # ------------------------------------------------------------ with the model
    def bind(self, model: Any, strict: bool = True) -> "BoundTags":
        """Connects the tags with the PyTorch model. `strict`: the model must have every module of a tag."""
        return BoundTags(self, model, strict)


class BoundTags:
    """Tags together with their PyTorch model."""

    def __init__(self, tags: Tags, model: Any, strict: bool = True) -> None:
        self.tags = tags
        self._modules: Dict[str, Any] = dict(model.named_modules(remove_duplicate=False))
        self._paths: Dict[int, List[str]] = {}
        for path, module in self._modules.items():
            self._paths.setdefault(id(module), []).append(path)
        missing = sorted({n.module for n in tags if n.module is not None and n.module not in self._modules})
        if strict and missing:
            some = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise TagsError(f"{tags.name}: {len(missing)} modules are not in this {type(model).__name__}: {some}\n"
                            "  bind the model that was exported (a wrapper or its inner part has other paths), or "
                            "bind(model, strict=False)")

    def module(self, node: NodeKey) -> Optional[Any]:
        """The nn.Module of the node; None if the node is untagged or the model does not have the module."""
        path = self.tags.module_of(node)
        return None if path is None else self._modules.get(path)

    def nodes_of(self, module: Any, children: bool = True) -> List[Node]:
        """The nodes of a module object and its submodules, under all of its paths."""
        paths = self._paths.get(id(module))
        if paths is None:
            raise TagsError(f"{self.tags.name}: this {type(module).__name__} is not part of the bound model")
        if children:
            return [n for n in self.tags if n.module is not None and any(is_under(n.module, p) for p in paths)]
        return [n for n in self.tags if n.module in paths]
