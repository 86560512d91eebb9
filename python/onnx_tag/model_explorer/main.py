"""Shows a model in Model Explorer in the hierarchy of its modules.

    model-explorer --extensions=onnx_tag.model_explorer model.onnx

Model Explorer finds the class below and offers it for .onnx files. A model without tags is tagged on the way: a
sidecar beside it is used where it fits, else the program `onnx-tag` maps the model. No weight is read.
"""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, Iterable, List, Optional

from model_explorer import Adapter, AdapterMetadata, ModelExplorerGraphs, graph_builder

from .. import program

_NO_MODULE = "[untagged]"


def sidecar_of(model_path: str) -> Dict[str, Any]:
    """What `onnx-tag` says of the model, as a sidecar has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.tags.json")
        program.run(["tag", os.path.abspath(model_path), "--sidecar-only", "--sidecar", path])
        with open(path, encoding="utf-8") as file:
            document: Dict[str, Any] = json.load(file)
            return document


def namespaces(document: Dict[str, Any]) -> Dict[str, str]:
    """The group of each module: `BertModel/encoder: BertEncoder/layer.0: BertLayer`.

    A list is no group of its own: its name stands before the number. Slashes in names would make groups. The outermost
    module that was found in the graph alone is marked: its name and the names below it are invented.
    """
    found = {module["path"] for module in document["modules"] if module.get("found")}
    classes: Dict[str, Optional[str]] = {module["path"]: module.get("class") for module in document["modules"]}
    root = (document.get("root") or {}).get("class") or "Model"
    groups: Dict[str, str] = {"": root}
    for path in classes:
        if path == "":
            continue
        segments: List[str] = [root]
        waiting = ""
        at = ""
        marked = False
        atoms = path.split(".")
        for atom, following in zip(atoms, atoms[1:] + [""]):
            at = f"{at}.{atom}" if at else atom
            name = f"{waiting}.{atom}" if waiting else atom
            class_name = classes.get(at)
            holds = class_name in ("ModuleList", "ModuleDict") or (not class_name and following.isdigit())
            if holds and at != path:
                waiting = name
                continue
            waiting = ""
            text = f"{name}: {class_name}" if class_name else name
            if at in found and not marked:
                marked = True
                text += " (found)"
            segments.append(text.replace("/", "\u2215"))
        groups[path] = "/".join(segments)
    return groups


def _found_as(document: Dict[str, Any]) -> Dict[str, str]:
    """What each module that was found in the graph alone is: of a copy, which of its list."""
    found: Dict[str, str] = {}
    for module in document["modules"]:
        if module.get("found"):
            copy = module.get("description")
            found[module["path"]] = (f"{copy}; the name is invented" if copy else
                                     found.get(module["path"].rpartition(".")[0], "the name is invented"))
    return found


def _attributes(node: Dict[str, Any], found_as: Dict[str, str]) -> Dict[str, str]:
    role = node.get("semantic") or {}
    known = {
        "module": node.get("module"),
        "class": node.get("class"),
        "hierarchy tag": node.get("hierarchy_tag"),
        "role": "/".join(filter(None, (role.get("type"), role.get("component")))),
        "attention": role.get("attention_kind"),
        "layer": None if role.get("layer") is None else str(role["layer"]),
        "confidence": node.get("confidence"),
        "source": node.get("source"),
        "found in the graph": found_as.get(node["module"]) if node.get("module") else None,
        "name": node.get("name"),
    }
    return {key: value for key, value in known.items() if value}


def _inside(paths: Iterable[str]) -> Dict[str, Dict[int, List[str]]]:
    """By graph, by node: the graphs that it holds. `12:then_branch` is held by node 12 of the main graph."""
    held: Dict[str, Dict[int, List[str]]] = {}
    for path in paths:
        parent, _, last = path.rpartition("/")
        index = last.partition(":")[0]
        if index.isdigit():
            held.setdefault(parent, {}).setdefault(int(index), []).append(path)
    return held


def _build(name: str, nodes: List[Dict[str, Any]], held: Dict[int, List[str]],
           groups: Dict[str, str], found_as: Dict[str, str]) -> graph_builder.Graph:
    graph = graph_builder.Graph(id=name)
    producer: Dict[str, tuple[str, str]] = {}
    for node in nodes:
        for place, value in enumerate(node["outputs"]):
            if value:
                producer.setdefault(value, (str(node["index"]), str(place)))
    fed: Dict[str, graph_builder.GraphNode] = {}
    for node in nodes:
        module = node.get("module")
        shown = graph_builder.GraphNode(id=str(node["index"]), label=node["op"] or "?",
                                        namespace=_NO_MODULE if module is None else groups.get(module, module),
                                        subgraphIds=held.get(node["index"], []))
        for place, value in enumerate(node["inputs"]):
            if not value:
                continue
            source = producer.get(value)
            if source is None:
                # Inputs and weights: one node each, where they are first read.
                if value not in fed:
                    fed[value] = graph_builder.GraphNode(id=f"value {value}", label=value, namespace=shown.namespace)
                source = (f"value {value}", "0")
            shown.incomingEdges.append(graph_builder.IncomingEdge(
                sourceNodeId=source[0], sourceNodeOutputId=source[1], targetNodeInputId=str(place)))
        for place, value in enumerate(node["outputs"]):
            shown.outputsMetadata.append(graph_builder.MetadataItem(
                id=str(place), attrs=[graph_builder.KeyValue(key="tensor_name", value=value)]))
        for key, text in _attributes(node, found_as).items():
            shown.attrs.append(graph_builder.KeyValue(key=key, value=text))
        graph.nodes.append(shown)
    graph.nodes.extend(fed.values())
    return graph


class OnnxTagAdapter(Adapter):  # type: ignore[misc]
    """ONNX files by the modules that made their nodes."""

    metadata = AdapterMetadata(
        id="onnx_tag", name="ONNX by modules (onnx-tag)",
        description="Groups the nodes of an ONNX file by the modules of the source model",
        fileExts=["onnx"])

    def convert(self, model_path: str, settings: Dict[str, Any]) -> ModelExplorerGraphs:
        del settings
        document = sidecar_of(model_path)
        groups = namespaces(document)
        found_as = _found_as(document)
        graphs: Dict[str, List[Dict[str, Any]]] = {}
        for node in document["nodes"]:
            graphs.setdefault(node["graph"], []).append(node)
        held = _inside(graphs)
        return {"graphs": [_build(path or document["model"]["file"], nodes, held.get(path, {}), groups, found_as)
                           for path, nodes in (graphs or {"": []}).items()]}
