"""The names that ModelInsider gave to questions about nodes, answered from tags.

    ask = SemanticQueryInterface(Tags.load("bert.tags.json"))
    ask.find_nodes_by_module_type("attention")
    ask.get_attention_components(layer_id=0)

    SemanticMapper(model, "bert.onnx").map_all_nodes()         # tag(), with the modules of the live model
    builder = TracingHierarchyBuilder()
    builder.trace_model_execution(model, inputs)               # record()

For code that moves over. New code asks `Tags` itself: docs/guide/companion.md has both names side by side.
"""
from __future__ import annotations

import os
import tempfile
from typing import Any, Dict, List, Optional, Tuple, Union

from .errors import TagsError, UnknownWord, did_you_mean
from .tagging import tag
from .tags import BoundTags, Node, NodeKey, PathLike, Tags

# Which classes a type stands for: the first row with a word of the class's name.
MODULE_TYPES: Tuple[Tuple[str, Tuple[str, ...]], ...] = (
    ("attention", ("Attention",)), ("linear_projection", ("Linear",)), ("normalization", ("Norm",)),
    ("embedding", ("Embedding",)), ("regularization", ("Dropout",)), ("activation", ("Activation", "GELU", "ReLU")),
    ("pooling", ("Pooler",)), ("encoder", ("Encoder",)), ("decoder", ("Decoder",)), ("transformer_layer", ("Layer",)),
    ("other", ("",)))


class SemanticQueryInterface:
    """Aliases. Nodes are `onnx_tag.Node`s; give `tags.bind(model)` to get the nn.Module of a node, too."""

    def __init__(self, tags: Union[Tags, BoundTags]) -> None:
        self._bound = tags if isinstance(tags, BoundTags) else None
        self.tags = tags.tags if isinstance(tags, BoundTags) else tags

    def find_nodes_by_module_type(self, module_type: str) -> List[Node]:
        """Nodes whose own module has a class of this type: `tags.query("class=*Attention*")` for "attention"."""
        known = [name for name, _ in MODULE_TYPES]
        if module_type not in known:
            raise UnknownWord(f"no module type {module_type!r}{did_you_mean(module_type, known)}")
        return [node for node in self.tags if node.class_name is not None
                and next(name for name, words in MODULE_TYPES if any(word in node.class_name for word in words))
                == module_type]

    def find_nodes_by_layer(self, layer_id: int) -> List[Node]:
        """`tags.find(layer=0)`."""
        return self.tags.find(layer=layer_id)

    def get_attention_components(self, layer_id: Optional[int] = None) -> Dict[str, Node]:
        """All nodes of attention modules, by name: `within=*Attention*`, or a path with "attention".

        `tags.attention(layer=0)` has only the nodes with the role of attention: no sizes, masks or norms.
        """
        inside: Dict[str, bool] = {"": False}

        def is_inside(path: str) -> bool:
            if path not in inside:
                known = self.tags.modules.get(path)
                around, _, last = path.rpartition(".")
                inside[path] = ("attention" in last.lower() or "Attention" in ((known and known.class_name) or "")
                                or is_inside(around))
            return inside[path]

        found = [node for node in self.tags if node.module is not None and is_inside(node.module)
                 and (layer_id is None or node.layer == layer_id)]
        return {node.name or node.id: node for node in found}

    def find_nodes_by_hf_module_name(self, module_name: str) -> List[Node]:
        """`tags.find(module=...)`, and nothing for a module that the tags do not have."""
        return self.tags.find(module=module_name) if module_name in self.tags.modules else []

    def find_similar_nodes(self, node: NodeKey) -> List[Node]:
        """The other nodes of the node's module."""
        own = self.tags.node(node)
        return [] if own.module is None else [other for other in self.tags.find(module=own.module) if other is not own]

    def get_module_hierarchy_for_node(self, node: NodeKey) -> List[str]:
        """The path of the node's module, name by name; a number stays with its list: `layer.0`."""
        levels: List[str] = []
        for atom in (self.tags.module_of(node) or "").split("."):
            if atom.isdigit() and levels:
                levels[-1] += "." + atom
            elif atom:
                levels.append(atom)
        return levels

    def get_hf_module_for_onnx_node(self, node: NodeKey) -> Optional[Any]:
        """The nn.Module of the node: `tags.bind(model).module(node)`."""
        if self._bound is None:
            raise TagsError("the tags have no model: SemanticQueryInterface(tags.bind(model))")
        return self._bound.module(node)


class SemanticMapper:
    """`tag(onnx_model, sidecar_only=True)`; nothing is written beside the model.

    `model` is the live PyTorch model, whose module map is recorded first, or None. `onnx_model` is a path or an
    onnx.ModelProto. Options are those of `tag`.
    """

    def __init__(self, model: Optional[Any], onnx_model: Union[PathLike, Any], **options: Any) -> None:
        self.model, self.onnx_model, self.options = model, onnx_model, options
        self.tags: Optional[Tags] = None

    def map_all_nodes(self) -> Dict[str, Node]:
        """Every node by its name, or by its id where the name is empty or taken."""
        with tempfile.TemporaryDirectory() as folder:
            options = dict(self.options)
            given: Any = self.onnx_model
            path: PathLike = os.path.join(folder, "model.onnx")
            if isinstance(given, (str, os.PathLike)):
                path = given
            else:
                with open(path, "wb") as file:
                    file.write(given.SerializeToString())
            if self.model is not None:
                from .api import record
                options["hierarchy"] = os.path.join(folder, "model.recording.json")
                record(self.model, path=options["hierarchy"])
            self.tags = tag(path, sidecar_only=True, sidecar=os.path.join(folder, "model.tags.json"), **options)
        found: Dict[str, Node] = {}
        for node in self.tags:
            found[node.name if node.name and node.name not in found else node.id] = node
        return found


class TracingHierarchyBuilder:
    """`record(model, inputs)`: the modules that ran. The whole recording is in `recording`."""

    def __init__(self, exceptions: Optional[List[str]] = None) -> None:
        self.exceptions = exceptions  # for `tag(torch_nn_exceptions=...)`; a recording has every class
        self.recording: Dict[str, Any] = {}

    def trace_model_execution(self, model: Any, example_inputs: Any) -> None:
        """Runs the model once. A mapping is keyword arguments."""
        from .api import record
        self.recording = record(model, example_inputs)

    def get_complete_hierarchy(self) -> Dict[str, Dict[str, Any]]:
        """By path: the recorded facts of each module that ran, and its class as `class_name`."""
        return {path: {**facts, "class_name": facts["class"]}
                for path, facts in self.recording.get("modules", {}).items() if facts.get("calls")}

    def get_execution_summary(self) -> Dict[str, Any]:
        """How many modules there are and ran, and the modules."""
        hierarchy = self.get_complete_hierarchy()
        return {"total_modules": len(self.recording.get("modules", {})), "total_modules_traced": len(hierarchy),
                "module_hierarchy": hierarchy}
