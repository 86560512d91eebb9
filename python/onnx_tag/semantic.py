"""The names that ModelInsider, HTP, UniversalHierarchyExporter and EnhancedSemanticMapper gave to what onnx-tag does.

    hierarchy_metadata = TracingHierarchyBuilder().trace_model_execution(model, inputs)     # record()
    SemanticMapper("bert.onnx", hierarchy_metadata).map_all_nodes()                         # tag(), without the model
    HierarchyExporter(strategy="usage_based").export(model, inputs, "bert.onnx")            # export_and_tag()
    SemanticQueryInterface(Tags.load("bert.tags.json")).get_attention_components(layer_id=0)

For code that moves over. New code uses the names behind the hashes: docs/guide/moving-over.md has both side by side.
"""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

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


def _is_onnx(value: Any) -> bool:
    """A path or an onnx.ModelProto."""
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "SerializeToString")


class SemanticMapper:
    """`tag(onnx_model, sidecar_only=True)`; nothing is written beside the model.

        SemanticMapper(onnx_model, hierarchy_metadata)      # what trace_model_execution() returned, or a module map
        SemanticMapper(model, onnx_model)                   # the live PyTorch model, which is recorded; or None

    `onnx_model` is a path or an onnx.ModelProto; its place tells the two forms apart. Options are those of `tag`.
    """

    def __init__(self, first: Any, second: Any = None, **options: Any) -> None:
        if _is_onnx(first) and (second is None or isinstance(second, Mapping)):
            self.model, self.onnx_model, self.hierarchy = None, first, second
        elif _is_onnx(second) and not _is_onnx(first):
            self.model, self.onnx_model, self.hierarchy = first, second, None
        else:
            raise TagsError("SemanticMapper takes (onnx_model, hierarchy_metadata) or (model, onnx_model)")
        self.options = options
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
            facts = os.path.join(folder, "model.recording.json")
            if self.model is not None:
                from .api import record
                record(self.model, path=facts)
                options["hierarchy"] = facts
            elif self.hierarchy is not None:
                with open(facts, "w", encoding="utf-8") as text:
                    json.dump(_as_modules(self.hierarchy), text)
                options["recording" if self.hierarchy.get("events") else "hierarchy"] = facts
            self.tags = tag(path, sidecar_only=True, sidecar=os.path.join(folder, "model.tags.json"), **options)
        found: Dict[str, Node] = {}
        for node in self.tags:
            found[node.name if node.name and node.name not in found else node.id] = node
        return found

    def get_mapping_statistics(self) -> Dict[str, Any]:
        """`tags.document["statistics"]`, with the three names of ModelInsider."""
        if self.tags is None:
            self.map_all_nodes()
        assert self.tags is not None
        counts: Dict[str, Any] = dict(self.tags.document["statistics"])
        return {"total_onnx_nodes": counts["nodes"], "mapped_nodes": counts["tagged"],
                "mapping_coverage": counts["coverage"], **counts}


def _as_modules(hierarchy: Mapping[str, Any]) -> Dict[str, Any]:
    """A recording, or a module map: {"modules": {path: {"class_name": ...}}}, under any name, or without one."""
    names = ("modules", "module_hierarchy", "hierarchy")
    for name in names:
        if isinstance(hierarchy.get(name), Mapping):
            return {**{key: value for key, value in hierarchy.items() if key not in names}, "modules": hierarchy[name]}
    return {"modules": dict(hierarchy)}


class TracingHierarchyBuilder:
    """`record(model, inputs)`: the modules that ran. The whole recording is in `recording`."""

    def __init__(self, exceptions: Optional[List[str]] = None) -> None:
        self.exceptions = exceptions  # for `tag(torch_nn_exceptions=...)`; a recording has every class
        self.recording: Dict[str, Any] = {}

    def trace_model_execution(self, model: Any, example_inputs: Any) -> Dict[str, Any]:
        """Runs the model once. A mapping is keyword arguments. Returns the recording, its modules with `class_name`."""
        from .api import record
        self.recording = record(model, example_inputs)
        modules = {path: {**facts, "class_name": facts["class"]} for path, facts in self.recording["modules"].items()}
        return {**self.recording, "modules": modules}

    def get_complete_hierarchy(self) -> Dict[str, Dict[str, Any]]:
        """By path: the recorded facts of each module that ran, and its class as `class_name`."""
        return {path: {**facts, "class_name": facts["class"]}
                for path, facts in self.recording.get("modules", {}).items() if facts.get("calls")}

    def get_execution_summary(self) -> Dict[str, Any]:
        """How many modules there are and ran, and the modules."""
        hierarchy = self.get_complete_hierarchy()
        return {"total_modules": len(self.recording.get("modules", {})), "total_modules_traced": len(hierarchy),
                "module_hierarchy": hierarchy}


class HierarchyExporter:
    """`export_and_tag(model, inputs, path)`: an export whose nodes have tags of one strategy.

    Options are those of `tag`; `torch_nn_exceptions` is a list of torch.nn classes that stay in the tags, instead of
    the nine by default.
    """

    def __init__(self, strategy: str = "enhanced_semantic", torch_nn_exceptions: Optional[Sequence[str]] = None,
                 **tag_options: Any) -> None:
        self.strategy = strategy
        self.tag_options = {"strategy": strategy, **tag_options}
        if torch_nn_exceptions is not None:
            self.tag_options["torch_nn_exceptions"] = ",".join(torch_nn_exceptions)
        self.tags: Optional[Tags] = None

    def export(self, model: Any, example_inputs: Any, output_path: PathLike, **export_options: Any) -> Dict[str, Any]:
        """Writes the model with its tags, the sidecar and the recording; returns the counts of the tags."""
        from .api import export_and_tag
        self.tags = export_and_tag(model, example_inputs, output_path, tag_options=self.tag_options, **export_options)
        counts: Dict[str, Any] = dict(self.tags.document["statistics"])
        return {"output_path": os.fspath(output_path), "strategy": self.strategy, "total_operations": counts["nodes"],
                "tagged_operations": counts["tagged"], **counts}


def export_hf_model_with_semantics(hf_model: Any, sample_input: Any, output_path: PathLike, *,
                                   strategy: str = "enhanced_semantic", **export_options: Any
                                   ) -> Tuple[Any, SemanticMapper]:
    """`export_and_tag(hf_model, sample_input, output_path)`; returns the onnx.ModelProto and a mapper with its tags."""
    import onnx
    exporter = HierarchyExporter(strategy)
    exporter.export(hf_model, sample_input, output_path, **export_options)
    mapper = SemanticMapper(hf_model, os.fspath(output_path), strategy=strategy)
    mapper.tags = exporter.tags
    return onnx.load(os.fspath(output_path)), mapper
