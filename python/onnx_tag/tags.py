"""Reads the tags of a model: the module of a node, the attention nodes of layer 3, the nn.Module object of a node.

    tags = Tags.load("model.tags.json")             # or "model.tagged.onnx"
    tags.module_of("/encoder/layer.0/attention/self/query/MatMul")
    tags.query("type=attention and layer=0")        # the language of `onnx-tag query`
    tags.bind(model).module(node)                   # the live nn.Module

Needs nothing but Python; `bind` takes any object with `named_modules`. `query`, and `load` of a model, call the
program.
"""
from __future__ import annotations

import codecs
import contextlib
import os
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple, Union

from . import odd_bytes, program
from .errors import InputError, TagsError, UnknownWord, did_you_mean

PathLike = Union[str, "os.PathLike[str]"]
CONFIDENCE = ("low", "medium", "high", "certain")
TYPES = ("attention", "feed_forward", "normalization", "embedding", "position", "pooling", "head", "convolution",
         "recurrent", "ssm", "activation", "residual", "routing", "adapter", "cache", "mask", "shape", "constant",
         "quantization", "other")
ATTENTION_KINDS = ("self", "cross")

_TEXT = (str,)
_TEXT_OR_NONE = (str, type(None))
_LAYER = (int, type(None))


def _field(entry: Dict[str, Any], key: str, kinds: Tuple[type, ...], default: Any = None) -> Any:
    """A member of a sidecar's row, of the kind that the format says."""
    value = entry.get(key, default)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TagsError(f"{key!r} is {value!r:.60}" if key in entry else f"{key!r} is missing")
    return value


def _texts(entry: Dict[str, Any], key: str) -> Tuple[str, ...]:
    values = _field(entry, key, (list,), [])
    if not all(isinstance(value, str) for value in values):
        raise TagsError(f"{key!r} has something else than text")
    return tuple(values)


@dataclass(frozen=True)
class SourceLine:
    """A line of Python code; `text` is the code, where the file has it."""
    file: str
    line: int
    function: Optional[str]
    text: Optional[str]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def place(self) -> str:
        """`modeling_bert.py:238`: the file without its folders."""
        return f"{self.file.rpartition('/')[2]}:{self.line}"

    @staticmethod
    def from_json(entry: Dict[str, Any]) -> "SourceLine":
        return SourceLine(_field(entry, "file", _TEXT), _field(entry, "line", (int,)),
                          _field(entry, "function", _TEXT_OR_NONE), _field(entry, "text", _TEXT_OR_NONE))


def _frames(entry: Dict[str, Any]) -> Tuple[SourceLine, ...]:
    frames = _field(entry, "frames", (list,), [])
    if not all(isinstance(frame, dict) for frame in frames):
        raise TagsError("'frames' has something else than lines")
    return tuple(SourceLine.from_json(frame) for frame in frames)


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
    tag_module: Optional[str] = None
    source_line: Optional[SourceLine] = None      # the innermost line of the model's own code
    frames: Tuple[SourceLine, ...] = ()           # all of them, with `onnx-tag --frames`
    type_confidence: Optional[str] = None
    tag_class_confidence: Optional[str] = None    # of the weakest class in `hierarchy_tag`
    tag_module_class: Optional[str] = None
    scope_path: Optional[str] = None              # as the file spells it

    @property
    def id(self) -> str:
        """The form of the command line: `#17`, `12:then_branch#3`."""
        return f"{self.graph}#{self.index}"

    @staticmethod
    def from_json(entry: Dict[str, Any]) -> "Node":
        role = _field(entry, "semantic", (dict, type(None))) or {}
        line = _field(entry, "source_line", (dict, type(None)))
        return Node(_field(entry, "graph", _TEXT), _field(entry, "index", (int,)), _field(entry, "name", _TEXT),
                    _field(entry, "op", _TEXT), _field(entry, "domain", _TEXT, ""), _texts(entry, "inputs"),
                    _texts(entry, "outputs"), _field(entry, "module", _TEXT_OR_NONE),
                    _field(entry, "class", _TEXT_OR_NONE), _field(entry, "hierarchy_tag", _TEXT_OR_NONE),
                    _field(role, "type", _TEXT_OR_NONE), _field(role, "component", _TEXT_OR_NONE),
                    _field(role, "attention_kind", _TEXT_OR_NONE), _field(role, "layer", _LAYER),
                    _field(entry, "confidence", _TEXT_OR_NONE), _field(entry, "source", _TEXT_OR_NONE),
                    _texts(entry, "origins"), _field(entry, "tag_module", _TEXT_OR_NONE),
                    SourceLine.from_json(line) if line else None, _frames(entry),
                    _field(role, "confidence", _TEXT_OR_NONE), _field(entry, "tag_class_confidence", _TEXT_OR_NONE),
                    _field(entry, "tag_module_class", _TEXT_OR_NONE), _field(entry, "scope_path", _TEXT_OR_NONE))


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
    found: bool = False  # in the graph alone; the name is invented

    @staticmethod
    def from_json(entry: Dict[str, Any]) -> "Module":
        return Module(_field(entry, "path", _TEXT), _field(entry, "class", _TEXT_OR_NONE),
                      _field(entry, "class_confidence", _TEXT_OR_NONE), _field(entry, "hierarchy_tag", _TEXT, ""),
                      _field(entry, "role_path", _TEXT, ""), _field(entry, "nodes", (int,), 0),
                      _field(entry, "total_nodes", (int,), 0), _field(entry, "found", (bool,), False))


# A name, a place (`#17`), an index of the main graph, or an onnx.NodeProto.
NodeKey = Union[Node, int, str, Any]


def is_under(path: str, ancestor: str) -> bool:
    """Whether it is the module itself or a submodule."""
    return not ancestor or path == ancestor or path.startswith(ancestor + ".")


def _rows(document: Dict[str, Any], key: str, name: str) -> Iterator[Tuple[int, Dict[str, Any]]]:
    rows = document.get(key)
    if not isinstance(rows, list):
        raise TagsError(f"{name}: not a valid sidecar: no list {key!r}")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise TagsError(f"{name}: not a valid sidecar: {key}[{number}] is no object")
        yield number, row


def _parsed(text: str, name: str) -> Any:
    try:
        return odd_bytes.loads(text)
    except ValueError as error:
        raise TagsError(f"{name}: not JSON: {error}") from None
    except RecursionError:
        raise TagsError(f"{name}: not a sidecar: the JSON is nested too deeply") from None


class _Unreadable(InputError, OSError):
    pass


class Tags:
    """The tags of one model, from the sidecar that `onnx-tag` writes."""

    def __init__(self, document: Dict[str, Any], name: str = "<sidecar>", path: Optional[str] = None) -> None:
        """`path`: the file that has this document, if there is one."""
        if not isinstance(document, dict) or not str(document.get("format", "")).startswith("onnx-tag/"):
            raise TagsError(f"{name}: not a sidecar of onnx-tag; write one with: onnx-tag model.onnx --sidecar-only")
        if document["format"] != "onnx-tag/1":
            raise TagsError(f"{name}: the format is {document['format']!r}, but this version reads 'onnx-tag/1'")
        self.name = name
        self.document = document
        self._path = path
        self.nodes: List[Node] = []
        self.modules: Dict[str, Module] = {}
        for key, add in (("nodes", self._add_node), ("modules", self._add_module)):
            for number, row in _rows(document, key, name):
                try:
                    add(row)
                except TagsError as error:
                    raise TagsError(f"{name}: not a valid sidecar: {key}[{number}]: {error}") from None
        self._at = {(node.graph, node.index): node for node in self.nodes}
        self._named: Dict[str, List[Node]] = {}
        self._making: Dict[str, List[Node]] = {}
        for node in self.nodes:
            self._named.setdefault(node.name, []).append(node)
            for output in node.outputs:
                self._making.setdefault(output, []).append(node)

    def _add_node(self, row: Dict[str, Any]) -> None:
        self.nodes.append(Node.from_json(row))

    def _add_module(self, row: Dict[str, Any]) -> None:
        module = Module.from_json(row)
        self.modules[module.path] = module

    @staticmethod
    def load(path: PathLike) -> "Tags":
        """Reads a sidecar, or the tags in a model. A model without tags is refused: `onnx_tag.tag` makes them."""
        name = os.fspath(path)
        try:
            with open(name, "rb") as file:
                first = file.read(64)
        except (OSError, ValueError) as error:              # ValueError: a name with NUL
            raise _Unreadable(f"{name}: could not read: {getattr(error, 'strerror', None) or error}") from None
        if first.startswith(codecs.BOM_UTF8):
            first = first[len(codecs.BOM_UTF8):]
        if first.lstrip()[:1] not in (b"{", b"["):
            return _tags_in_model(name)
        with open(name, encoding="utf-8-sig") as text:
            try:
                return Tags(_parsed(text.read(), name), name, name)
            except UnicodeDecodeError as error:
                raise TagsError(f"{name}: not JSON: {error}") from None

    # ------------------------------------------------------------ one node
    def node(self, key: NodeKey) -> Node:
        """By index in the main graph (17), place (`#17`, `12:then_branch#3`), name, `output=…`, or onnx.NodeProto."""
        if isinstance(key, Node):
            return key
        if isinstance(key, int):
            return self._by_place("", key)
        if not isinstance(key, str):
            return self._by_proto(key)
        graph, hash_, index = key.rpartition("#")
        if hash_ and index.isdigit() and (graph, int(index)) in self._at:
            return self._by_place(graph, int(index))
        kind, equals, value = key.partition("=")
        if equals and kind in ("name", "output"):
            known = self._named if kind == "name" else self._making
            return self._only(known.get(value, []), repr(key), value, known)
        return self._only(self._named.get(key, []) if key else [], repr(key), key, self._named)

    def _by_place(self, graph: str, index: int) -> Node:
        found = self._at.get((graph, index))
        if found is None:
            raise UnknownWord(f"{self.name}: no node {graph}#{index}")
        return found

    def _by_proto(self, proto: Any) -> Node:
        """Values have one producer in a graph, so outputs tell nodes apart; names repeat and are often empty."""
        try:
            name, op, inputs, outputs = proto.name, proto.op_type, tuple(proto.input), tuple(proto.output)
        except AttributeError:
            raise TagsError(f"{self.name}: a node is a name, an index or an onnx.NodeProto, "
                            f"not {type(proto).__name__}") from None
        made = next((output for output in outputs if output), None)
        found = [node for node in (self._named.get(name, []) if made is None else self._making.get(made, []))
                 if node.op == op]
        # The same value may be made in two branches: more of the node tells which.
        for field, value in (("outputs", outputs), ("inputs", inputs), ("name", name)):
            if len(found) > 1:
                found = [node for node in found if getattr(node, field) == value]
        return self._only(found, f"{op} {name or made!r}", name, self._named)

    def _only(self, found: List[Node], said: str, word: str, known: Iterable[str]) -> Node:
        if not found:
            raise UnknownWord(f"{self.name}: no node {said}{did_you_mean(word, known)}")
        if len(found) > 1:
            some = ", ".join(node.id for node in found[:8])
            raise UnknownWord(f"{self.name}: {len(found)} nodes are {said}; say which: {some}")
        return found[0]

    def module(self, path: str) -> Module:
        """The module at a path: its class, tag and sizes. The root's path is empty."""
        return self.modules[self._known(path, self.modules, "module")]

    def _known(self, word: str, known: Iterable[str], what: str) -> str:
        if word not in known:
            raise UnknownWord(f"{self.name}: no {what} {word!r}{did_you_mean(word, known)}")
        return word

    def module_of(self, node: NodeKey) -> Optional[str]:
        """The path of the module: empty for the root, None for an untagged node."""
        return self.node(node).module

    # ------------------------------------------------------------ many nodes
    def query(self, expression: str) -> List[Node]:
        """Nodes by an expression in the language of `onnx-tag query`, in the order of the file.

        No node may match: the list is empty then. A malformed expression raises with a mark below the place.
        """
        with self._as_file() as path:
            before = ["--"] if expression.startswith("-") else []
            answer = program.run(["query", "--json", path, *before, expression])
        return [self._by_place(row["graph"], row["index"]) for row in _parsed(answer.out, "onnx-tag query")["nodes"]]

    @contextlib.contextmanager
    def _as_file(self) -> Iterator[str]:
        if self._path is not None:
            yield self._path
            return
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.tags.json")
            with open(path, "w", encoding="ascii") as file:
                file.write(odd_bytes.dumps(self.document))
            yield path

    def find(self, *, type: Optional[str] = None, component: Optional[str] = None, layer: Optional[int] = None,
             attention: Optional[str] = None, module: Optional[str] = None, under: Optional[str] = None,
             class_name: Optional[str] = None, within: Optional[str] = None, op: Optional[str] = None,
             name: Optional[str] = None, min_confidence: Optional[str] = None, source: Optional[str] = None,
             untagged: Optional[bool] = None) -> List[Node]:
        """Nodes that match all conditions, in file order.

        The words mean what they mean in `query`: `module` is exact and `under` takes the whole subtree; `class_name`
        (`class=` in a query) is the class of the node's own module, `within` also of a module around it. `name` may
        hold `*` and `?`.
        """
        for word, known, what in ((min_confidence, CONFIDENCE, "confidence"), (type, TYPES, "type"),
                                  (attention, ATTENTION_KINDS, "attention kind"), (module, self.modules, "module"),
                                  (under, self.modules, "module"), (class_name, self.classes(), "class"),
                                  (within, self.classes(), "class")):
            if word is not None:
                self._known(word, known, what)
        exact = {"type": type, "component": component, "layer": layer, "attention_kind": attention, "module": module,
                 "class_name": class_name, "op": op, "source": source}
        wanted = {field: value for field, value in exact.items() if value is not None}
        around = set(self.classes()[within]) if within is not None else set()
        inside: Dict[str, bool] = {}

        def fits(node: Node) -> bool:
            if any(getattr(node, field) != value for field, value in wanted.items()):
                return False
            if under is not None and (node.module is None or not is_under(node.module, under)):
                return False
            if within is not None and (node.module is None or not self._inside(node.module, around, inside)):
                return False
            if name is not None and not fnmatchcase(node.name, name):
                return False
            if untagged is not None and (node.module is None) != untagged:
                return False
            return min_confidence is None or (
                node.confidence in CONFIDENCE
                and CONFIDENCE.index(node.confidence) >= CONFIDENCE.index(min_confidence))

        return [node for node in self.nodes if fits(node)]

    def attention(self, layer: Optional[int] = None, kind: Optional[str] = None) -> List[Node]:
        """The attention nodes of one layer, or of all layers; `kind`: self or cross."""
        return self.find(type="attention", layer=layer, attention=kind)

    def by_class(self, class_name: str) -> List[Node]:
        """Nodes whose own module has this class, as `class=` in a query."""
        return self.find(class_name=class_name)

    def within(self, class_name: str) -> List[Node]:
        """Nodes whose module, or a module around it, has this class, as `within=` in a query."""
        return self.find(within=class_name)

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


def _tags_in_model(name: str) -> Tags:
    # The program maps a model without tags; `query` says where the tags that it read come from.
    about = _parsed(program.run(["query", name, "not op=*", "--json"]).out, name)
    if about["tags_from"] == "mapped":
        raise TagsError(f"{name}: this model has no tags; make them with onnx_tag.tag({name!r})")
    answer = program.run(["export", name, "--to", "sidecar"])
    return Tags(_parsed(answer.out, name), name)


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
