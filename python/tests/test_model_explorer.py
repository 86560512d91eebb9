"""The Model Explorer extension, with the real package where it is installed."""
from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Dict

import pytest

pytest.importorskip("model_explorer")

from onnx_tag.model_explorer import main as model_explorer  # noqa: E402

BERT = Path(__file__).resolve().parents[2] / "tests/models/bert_tiny/model.onnx"


def document() -> Dict[str, Any]:
    return {
        "model": {"file": "m.onnx"}, "root": {"class": "BertModel"},
        "modules": [{"path": "", "class": "BertModel"}, {"path": "encoder", "class": "BertEncoder"},
                    {"path": "encoder.layer", "class": "ModuleList"}, {"path": "encoder.layer.0", "class": "BertLayer"},
                    {"path": "encoder.layer.0.act", "class": None}],
        "nodes": [
            {"graph": "", "index": 0, "name": "a", "op": "Relu", "inputs": ["x"], "outputs": ["y"],
             "module": "encoder.layer.0.act", "class": None, "semantic": {"type": "activation", "component": None}},
            {"graph": "", "index": 1, "name": "b", "op": "Cast", "inputs": ["y", ""], "outputs": ["z"], "module": None},
        ],
    }


def test_groups_read_well() -> None:
    assert model_explorer.namespaces(document()) == {
        "": "BertModel", "encoder": "BertModel/encoder: BertEncoder",
        "encoder.layer": "BertModel/encoder: BertEncoder/layer: ModuleList",
        "encoder.layer.0": "BertModel/encoder: BertEncoder/layer.0: BertLayer",
        "encoder.layer.0.act": "BertModel/encoder: BertEncoder/layer.0: BertLayer/act"}


def test_found_modules_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = document()
    found["modules"][3:] = [
        {"path": "encoder.blocks", "class": None, "found": True},
        {"path": "encoder.blocks.1", "class": None, "found": True, "description": "block 1 of 2 equal blocks"},
        {"path": "encoder.blocks.1.conv", "class": "Conv2d", "found": True}]
    found["nodes"][0]["module"] = "encoder.blocks.1.conv"
    monkeypatch.setattr(model_explorer, "sidecar_of", lambda path: found)
    conv = model_explorer.OnnxTagAdapter().convert("m.onnx", {})["graphs"][0].nodes[0]
    assert conv.namespace == "BertModel/encoder: BertEncoder/blocks.1 (found)/conv: Conv2d"
    assert {"found in the graph": "block 1 of 2 equal blocks; the name is invented"}.items() <= {
        pair.key: pair.value for pair in conv.attrs}.items()


def test_nodes_have_groups_edges_and_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_explorer, "sidecar_of", lambda path: document())
    graph = model_explorer.OnnxTagAdapter().convert("m.onnx", {})["graphs"][0]
    relu, cast, fed = graph.nodes
    assert relu.namespace == "BertModel/encoder: BertEncoder/layer.0: BertLayer/act"
    assert {"module", "role"} <= {pair.key for pair in relu.attrs}
    assert cast.namespace == "[untagged]"
    assert [(edge.sourceNodeId, edge.sourceNodeOutputId) for edge in cast.incomingEdges] == [("0", "0")]
    assert (fed.label, relu.incomingEdges[0].sourceNodeId) == ("x", fed.id)


def test_a_model_without_tags_is_tagged_on_the_way(binary: str) -> None:
    graph = model_explorer.OnnxTagAdapter().convert(str(BERT), {})["graphs"][0]
    groups = {node.namespace for node in graph.nodes}
    assert any("BertSelfAttention" in group for group in groups)
    assert not list(BERT.parent.glob("*.tags.json")), "nothing is written beside the model"


def test_model_explorer_loads_the_extension() -> None:
    from model_explorer.extension_manager import ExtensionManager
    manager = ExtensionManager(["onnx_tag.model_explorer"])
    manager.load_extensions()
    assert "onnx_tag" in {extension.metadata.id for extension in manager.extensions}


def test_work_grows_with_the_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    def lines_for(count: int) -> int:
        nodes = [{"graph": "", "index": i, "op": "If", "inputs": ["x"], "outputs": [f"v{i}"]} for i in range(count)]
        nodes += [{"graph": f"{i}:then_branch", "index": 0, "op": "Relu", "inputs": ["x"], "outputs": ["y"]}
                  for i in range(count)]
        many: Dict[str, Any] = {"model": {"file": "m.onnx"}, "modules": [], "nodes": nodes}
        monkeypatch.setattr(model_explorer, "sidecar_of", lambda path: many)
        lines = 0

        def trace(frame: Any, event: str, argument: Any) -> Any:
            nonlocal lines
            lines += 1
            return trace

        sys.settrace(trace)
        try:
            graphs = model_explorer.OnnxTagAdapter().convert("m.onnx", {})["graphs"]
        finally:
            sys.settrace(None)
        assert len(graphs) == count + 1
        assert graphs[0].nodes[3].subgraphIds == ["3:then_branch"]
        return lines

    assert lines_for(400) < 2.2 * lines_for(200)
