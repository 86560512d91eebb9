"""Tags needs nothing but Python: these tests import neither torch nor onnx."""
from __future__ import annotations

import json
import subprocess
import sys

import pytest
from conftest import ROOT

from onnx_tag import SemanticQueryInterface, Tags, TagsError, UnknownWord, tag


def node(index, module, *, graph="", name="", op="MatMul", type_="attention", component=None, layer=None, kind=None,
         confidence="certain", outputs=()):
    tagged = module is not None
    return {"graph": graph, "index": index, "name": name, "op": op, "domain": "", "inputs": [],
            "outputs": list(outputs), "module": module, "class": "Linear" if tagged else None,
            "hierarchy_tag": "/M" if tagged else None,
            "semantic": {"type": type_, "component": component, "attention_kind": kind, "layer": layer}
            if tagged else None,
            "confidence": confidence if tagged else None, "source": "scope" if tagged else None, "origins": []}


def module(path, class_name):
    return {"path": path, "class": class_name, "class_confidence": "certain", "candidates": [],
            "hierarchy_tag": "/M", "role_path": "/M", "nodes": 0, "total_nodes": 0}


SIDECAR = {
    "format": "onnx-tag/1",
    "modules": [module("", "M"), module("layer", "ModuleList"), module("layer.0", "Block"),
                module("layer.0.attn", "Attention"), module("layer.0.attn.q", "Linear"), module("layer.1", "Block"),
                module("layer.1.attn", "Attention"), module("layer.10", "Block")],
    "nodes": [
        node(0, "layer.0.attn.q", name="/q/MatMul", component="query", layer=0, kind="self", outputs=["q0"]),
        node(1, "layer.1.attn", name="/twice", layer=1, kind="cross", confidence="medium", outputs=["a"]),
        node(2, "layer.10", name="/twice", type_="residual", op="Add", layer=10, confidence="low", outputs=["b"]),
        node(3, "", name="", type_="shape", op="Shape", outputs=["c"]),
        node(4, None, name="lost", op="If", outputs=["d"]),
        node(0, "layer.1", graph="4:then_branch", name="#odd", type_="other", op="Add", layer=1, outputs=["e"]),
    ],
}


@pytest.fixture()
def tags():
    return Tags(SIDECAR)


def test_a_node_is_found_by_index_place_name_and_output(tags):
    for key in (0, "#0", "/q/MatMul", "name=/q/MatMul", "output=q0"):
        assert tags.module_of(key) == "layer.0.attn.q", key
    assert tags.module_of("4:then_branch#0") == "layer.1"
    assert tags.module_of("#odd") == "layer.1"
    assert tags.node("4:then_branch#0").id == "4:then_branch#0"


def test_the_root_is_an_empty_path_and_an_untagged_node_is_none(tags):
    assert tags.module_of(3) == ""
    assert tags.module_of("lost") is None


def test_a_node_has_its_line_of_code(tags):
    assert tags.node(0).source_line is None and tags.node(0).frames == ()     # a sidecar of 0.2
    line = {"file": "net.py", "line": 7, "function": "forward", "text": None}
    row = {**SIDECAR["nodes"][0], "source_line": line, "frames": [{**line, "file": "torch/a.py"}, line]}
    node = Tags({**SIDECAR, "nodes": [row]}).node(0)
    assert str(node.source_line) == "net.py:7" and node.source_line.function == "forward"
    assert [frame.file for frame in node.frames] == ["torch/a.py", "net.py"]
    for damaged in ({"source_line": "net.py:7"}, {"source_line": {"file": "net.py"}}, {"frames": ["net.py"]}):
        with pytest.raises(TagsError):
            Tags({**SIDECAR, "nodes": [{**row, **damaged}]})


def test_a_name_that_fits_two_nodes_is_refused_with_both(tags):
    with pytest.raises(KeyError, match="2 nodes are '/twice'.*#1, #2"):
        tags.module_of("/twice")
    for key in ("nobody", "", 99, "output=zz"):
        with pytest.raises(KeyError, match="no node"):
            tags.module_of(key)


def test_conditions_of_find_are_met_together(tags):
    assert [n.index for n in tags.find(type="attention")] == [0, 1]
    assert [n.index for n in tags.find(type="attention", layer=1)] == [1]
    assert [n.index for n in tags.find(component="query", layer=0)] == [0]
    assert tags.find(component="query", layer=1) == []
    assert [n.op for n in tags.find(untagged=True)] == ["If"]
    assert len(tags.find(untagged=False)) == 5
    assert [n.index for n in tags.find(name="/*")] == [0, 1, 2]
    assert [n.index for n in tags.find(attention="cross")] == [1]


def test_under_takes_the_subtree_and_not_a_longer_number(tags):
    assert [n.id for n in tags.find(under="layer.1")] == ["#1", "4:then_branch#0"]
    assert [n.id for n in tags.find(module="layer.1")] == ["4:then_branch#0"]
    assert len(tags.find(under="")) == 5


def test_confidence_is_a_lower_bound(tags):
    assert [n.index for n in tags.find(min_confidence="medium", type="attention")] == [0, 1]
    assert [n.index for n in tags.find(min_confidence="high", type="attention")] == [0]


def test_attention_of_a_layer(tags):
    assert [n.index for n in tags.attention(0)] == [0]
    assert [n.index for n in tags.attention()] == [0, 1]
    assert [n.index for n in tags.attention(kind="cross")] == [1]
    assert tags.attention(7) == []


def test_classes_mean_what_they_mean_in_a_query(tags):
    assert [n.id for n in tags.by_class("Linear")] == [n.id for n in tags.find(untagged=False)]
    assert tags.by_class("Attention") == []                 # the nodes are of modules below it
    assert [n.id for n in tags.within("Attention")] == ["#0", "#1"]
    assert [n.id for n in tags.within("Block")] == ["#0", "#1", "#2", "4:then_branch#0"]
    assert [n.id for n in tags.within("M")] == ["#0", "#1", "#2", "#3", "4:then_branch#0"]
    assert [n.id for n in tags.find(within="Attention", layer=0)] == ["#0"]
    assert tags.classes()["Attention"] == ["layer.0.attn", "layer.1.attn"]
    assert tags.layers() == [0, 1, 10]


def test_a_module_is_found_by_its_path(tags):
    assert tags.module("layer.0.attn.q").class_name == "Linear"
    assert tags.module("").path == ""
    found = Tags({**SIDECAR, "modules": [module("", "M"), {**module("blocks", None), "found": True}], "nodes": []})
    assert found.module("blocks").found and not found.module("").found


@pytest.mark.parametrize("ask, near", [
    (lambda t: t.node("/q/MatMull"), "/q/MatMul"), (lambda t: t.node("output=q00"), "q0"),
    (lambda t: t.module("layer.0.atn"), "layer.0.attn"), (lambda t: t.by_class("attention"), "Attention"),
    (lambda t: t.within("Blok"), "Block"), (lambda t: t.find(type="atention"), "attention"),
    (lambda t: t.find(attention="slef"), "self"), (lambda t: t.find(under="layr.1"), "layer.1"),
    (lambda t: t.find(min_confidence="hihg"), "high")])
def test_wrong_words_raise_with_a_suggestion(tags, ask, near):
    with pytest.raises(UnknownWord, match=f"did you mean '{near}'"):
        ask(tags)


class Proto:
    """What onnx.NodeProto has of interest."""
    def __init__(self, name, op_type, inputs, outputs):
        self.name, self.op_type, self.input, self.output = name, op_type, inputs, outputs


def test_a_node_of_onnx_is_found_by_its_outputs(tags):
    assert tags.node(Proto("/twice", "MatMul", [], ["a"])).index == 1
    assert tags.node(Proto("/twice", "Add", [], ["b"])).index == 2
    assert tags.node(Proto("", "Add", [], ["e"])).id == "4:then_branch#0"
    with pytest.raises(UnknownWord, match="no node Add"):
        tags.node(Proto("", "Add", [], ["a"]))              # another operator made that value
    with pytest.raises(TagsError, match="not float"):
        tags.node(1.5)


@pytest.mark.parametrize("text, message", [
    ("[" * 200000, "nested too deeply"), ('{"format":"onnx-tag/1"}', "no list 'nodes'"),
    ('{"format":"onnx-tag/1","nodes":[1],"modules":[]}', r"nodes\[0\] is no object"),
    ('{"format":"onnx-tag/1","nodes":[{}],"modules":[]}', r"nodes\[0\]: 'semantic'|'graph' is missing"),
    ('{"format":"onnx-tag/1","nodes":[],"modules":[{"path":7}]}', r"modules\[0\]: 'path' is 7"),
    ('{"format":["onnx-tag/1"]}', "not a sidecar")])
def test_a_damaged_sidecar_gives_one_clear_error(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(TagsError, match=message):
        Tags.load(path)


def test_files_that_are_no_sidecar_are_refused_with_what_to_do(tmp_path):
    for text, message in (("{", "not JSON"), ("[]", "not a sidecar"), ('{"format": "other/1"}', "onnx-tag model.onnx"),
                          ('{"format": "onnx-tag/9", "nodes": []}', "reads 'onnx-tag/1'")):
        path = tmp_path / "x.json"
        path.write_text(text)
        with pytest.raises(TagsError, match=message):
            Tags.load(path)


def test_bytes_that_are_no_text_survive(tmp_path):
    path = tmp_path / "x.json"
    # As this version writes a byte, as 0.1 did, and the private character itself.
    for written, read in (("a\uef80b", b"a\x80b"), ("a\udc80b", b"a\x80b"), ("\uefee\uefbe\uef80", "\uef80".encode())):
        path.write_text(json.dumps(dict(SIDECAR, nodes=[node(0, "m", name=written)])))
        assert Tags.load(path).node(0).name.encode("utf-8", "surrogateescape") == read


def test_bind_gives_objects_and_back():
    class Part:
        pass

    class Model:
        def __init__(self):
            self.parts = {path: Part() for path in ("", "layer", "layer.0", "layer.0.attn", "layer.0.attn.q", "layer.1",
                                                    "layer.1.attn", "layer.10")}
            self.parts["again"] = self.parts["layer.0"]

        def named_modules(self, remove_duplicate=True):
            return self.parts.items()

    model = Model()
    bound = Tags(SIDECAR).bind(model)
    assert bound.module("/q/MatMul") is model.parts["layer.0.attn.q"]
    assert bound.module("lost") is None
    assert [n.id for n in bound.nodes_of(model.parts["layer.0"])] == ["#0"]
    assert bound.nodes_of(model.parts["layer.0"], children=False) == []
    with pytest.raises(TagsError, match="not part of the bound model"):
        bound.nodes_of(Part())
    del model.parts["layer.10"]
    with pytest.raises(TagsError, match="1 modules are not in this Model: layer.10"):
        Tags(SIDECAR).bind(model)
    assert Tags(SIDECAR).bind(model, strict=False).module("#2") is None


def test_neither_torch_nor_onnx_is_imported():
    code = ("import sys; import onnx_tag, onnx_tag.tags, onnx_tag.document, onnx_tag.__main__;"
            "onnx_tag.__main__.parser();"
            "sys.exit(any(m in sys.modules for m in ('torch', 'onnx', 'numpy')))")
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT / "python").returncode == 0


def test_a_sidecar_of_the_program_is_read(binary, tmp_path):
    model = ROOT / "tests/models/bert_tiny/model.onnx"
    path = tmp_path / "bert.tags.json"
    subprocess.run([binary, "tag", str(model), "--sidecar-only", "--sidecar", str(path), "--quiet"], check=True)
    tags = Tags.load(path)
    assert tags.module_of("/encoder/layer.0/attention/self/query/MatMul") == "encoder.layer.0.attention.self.query"
    queries = tags.find(type="attention", component="query", layer=1, op="MatMul")
    assert [n.module for n in queries] == ["encoder.layer.1.attention.self.query"]
    inside = tags.within("BertSelfAttention")
    assert inside and all(".attention.self" in n.module for n in inside)
    assert [n.id for n in inside] == [n.id for n in tags.query("within=BertSelfAttention")]
    own = tags.by_class("BertSelfAttention")
    assert [n.id for n in own] == [n.id for n in tags.query("class=BertSelfAttention")]
    assert len(own) < len(inside)
    assert {n.layer for n in tags.attention(0)} == {0}
    assert "236 nodes" in repr(tags)


def test_what_cannot_be_read_is_a_tags_error(tmp_path, binary):
    (tmp_path / "bad.json").write_bytes(b"{\xff")
    for name in (tmp_path, tmp_path / "missing.json", "nul\0.json", "nul\0.onnx", "", tmp_path / "bad.json"):
        with pytest.raises(TagsError):
            Tags.load(name)
    with pytest.raises(TagsError):
        tag("nul\0.onnx")
    path = tmp_path / "mark.json"
    path.write_text("\ufeff" + json.dumps(SIDECAR), encoding="utf-8")
    assert len(Tags.load(path)) == len(Tags(SIDECAR))


def test_the_names_of_modelinsider_are_aliases(binary):
    tags = tag(ROOT / "tests/models/bert_tiny/model.onnx", sidecar_only=True, no_sidecar=True)
    ask = SemanticQueryInterface(tags)
    assert ask.find_nodes_by_module_type("attention") == tags.query("class=*Attention*")
    assert ask.find_nodes_by_module_type("linear_projection") == tags.query("class=Linear")
    assert ask.find_nodes_by_layer(0) == tags.find(layer=0)
    inside = ask.get_attention_components(0)
    assert list(inside.values()) == tags.query("within=*Attention* and layer=0")
    assert set(tags.attention(layer=0)) <= set(inside.values())
    query = "encoder.layer.0.attention.self.query"
    node = tags.find(module=query, op="MatMul")[0]
    assert inside[node.name] is node and node in ask.find_nodes_by_hf_module_name(query)
    assert ask.find_nodes_by_hf_module_name("no.such.module") == []
    assert ask.get_module_hierarchy_for_node(node) == ["encoder", "layer.0", "attention", "self", "query"]
    assert set(ask.find_similar_nodes(node)) == set(tags.find(module=query)) - {node}
    with pytest.raises(UnknownWord, match="did you mean 'attention'"):
        ask.find_nodes_by_module_type("atention")
    with pytest.raises(TagsError, match="bind"):
        ask.get_hf_module_for_onnx_node(node)

    class Model:
        @staticmethod
        def named_modules(remove_duplicate=True):
            return [(path, path) for path in tags.modules]
    assert SemanticQueryInterface(tags.bind(Model())).get_hf_module_for_onnx_node(node) == query
