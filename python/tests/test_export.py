"""Export and record in one go, and the command line, with real torch and onnx."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
from torch import nn  # noqa: E402

from onnx_tag import ProgramError, Tags, TagsError, document, export_and_record, export_and_tag, record  # noqa: E402
from onnx_tag.__main__ import main  # noqa: E402

MAKER = '''
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
    def forward(self, x):
        return self.norm(torch.relu(self.fc(x)) + x)

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Layer(), Layer()])
    def forward(self, x, bias=None):
        for layer in self.layers:
            x = layer(x)
        return x if bias is None else x + bias

def make():
    torch.manual_seed(0)
    return Stack(), torch.ones(2, 4)

def keywords():
    return Stack(), (torch.ones(2, 4),), {"bias": torch.ones(4)}

def alone():
    return Stack()

def broken():
    raise ValueError("no weights")

def wrong():
    return 7
'''


@pytest.fixture()
def maker(tmp_path):
    path = tmp_path / "maker_under_test.py"
    path.write_text(MAKER)
    return path

RECORDED = "recording.json: 8 modules\n  use it: onnx-tag MODEL --recording recording.json\n"


def make(maker):
    space = {}
    exec(compile(maker.read_text(), "maker", "exec"), space)
    return space["make"]()


@pytest.fixture()
def command(capsys, monkeypatch):
    """Runs the command in this process: importing torch takes longer than all of these tests."""
    def run(folder, *arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr("warnings.showwarning", None)
        sys.modules.pop("maker_under_test", None)
        capsys.readouterr()
        try:
            code = main(list(arguments))
        except SystemExit as stop:
            code = stop.code
        done = capsys.readouterr()
        return code, done.out, done.err
    return run


def test_it_runs_as_a_module(maker, tmp_path):
    done = subprocess.run([sys.executable, "-m", "onnx_tag", "record", "maker_under_test:alone"], cwd=tmp_path,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "python")), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, RECORDED, "")


@pytest.mark.parametrize("dynamo", [False, True])
def test_both_exporters(maker, tmp_path, schema, dynamo, binary):
    model, x = make(maker)
    path = tmp_path / "m.onnx"
    recording = export_and_record(model, x, path, dynamo=dynamo)
    assert document.load(tmp_path / "m.recording.json") == recording
    schema.validate(recording)
    onnx.checker.check_model(str(path))
    assert ("fx" in recording) == dynamo
    if dynamo:
        said = {p.value for n in onnx.load(path).graph.node for p in n.metadata_props
                if p.key == "pkg.torch.onnx.fx_node"}
        dumped = {n["name"] for n in recording["fx"]}
        assert said and all(text.split(" ")[0].lstrip("%") in dumped for text in said)
    # The tags and the recording speak of the same modules.
    sidecar = tmp_path / "m.tags.json"
    subprocess.run([binary, "tag", str(path), "--sidecar-only", "--sidecar", str(sidecar), "--quiet"], check=True)
    bound = Tags.load(sidecar).bind(model)
    products = [n for n in bound.tags if n.op in ("Gemm", "MatMul")]
    assert [bound.module(n) for n in products] == [layer.fc for layer in model.layers]
    assert {n.op for n in bound.nodes_of(model.layers[0])} >= {"Relu"}


@pytest.mark.parametrize("dynamo", [False, True])
def test_the_program_takes_what_was_recorded(maker, tmp_path, binary, dynamo):
    model, x = make(maker)
    export_and_record(model, x, tmp_path / "m.onnx", dynamo=dynamo, fx=True)
    bare = onnx.load(tmp_path / "m.onnx")
    for k, node in enumerate(bare.graph.node):
        node.name = f"n{k}"
        del node.metadata_props[:]
    onnx.save(bare, tmp_path / "bare.onnx")
    for options in (("--hierarchy",), ("--strategy", "universal", "--hierarchy"), ("--strategy", "htp", "--trace"),
                    ("--strategy", "fx_graph", "--fx")):
        file = "m.onnx" if options[-1] == "--hierarchy" else "bare.onnx"
        sidecar = tmp_path / "tags.json"
        done = subprocess.run([binary, "tag", str(tmp_path / file), *options, str(tmp_path / "m.recording.json"),
                               "--sidecar-only", "--sidecar", str(sidecar), "--quiet", "--force"],
                              capture_output=True, text=True)
        assert done.returncode == 0, (options, done.stderr)
        products = [n for n in Tags.load(sidecar) if n.op in ("Gemm", "MatMul")]
        assert [n.module for n in products] == ["layers.0.fc", "layers.1.fc"], options


def test_keywords_go_to_both_exporters(maker, tmp_path):
    model, x = make(maker)
    for dynamo in (False, True):
        path = tmp_path / f"k{dynamo}.onnx"
        recording = export_and_record(model, {"x": x, "bias": torch.ones(4)}, path, dynamo=dynamo,
                                      path=tmp_path / "r.json", input_names=["x", "bias"])
        assert [i["name"] for i in recording["inputs"]] == ["x", "bias"]
        assert [i.name for i in onnx.load(path).graph.input] == ["x", "bias"]


def test_the_command_records_and_says_what(maker, tmp_path, command):
    code, out, err = command(tmp_path, "record", "maker_under_test:make", "--fx", "-o", "r.json")
    assert (code, err) == (0, "")
    assert out.startswith("r.json: 8 modules, ") and "operations (traced)" in out and "FX nodes (torch.export)" in out
    assert document.load(tmp_path / "r.json")["modules"]["layers.1.norm"]["class"] == "LayerNorm"


def test_the_command_takes_a_file_and_a_model_without_inputs(maker, tmp_path, command):
    assert command(tmp_path, "record", "maker_under_test.py:alone")[:2] == (0, RECORDED)
    assert command("/", "record", f"{maker}:make", "--modules-only", "-o", str(tmp_path / "m.json"))[0] == 0
    assert "events" not in json.loads((tmp_path / "m.json").read_text())
    assert command(tmp_path, "record", "maker_under_test:keywords", "--run", "eager")[0] == 0
    recording = document.load(tmp_path / "recording.json")
    assert [i["name"] for i in recording["inputs"]] == ["x", "bias"] and recording["run"] == {"mode": "eager"}


def test_the_command_exports(maker, tmp_path, command):
    for exporter in ("dynamo", "torchscript"):
        code, out, err = command(tmp_path, "record", "maker_under_test:make", "--export", f"{exporter}.onnx",
                                 "--exporter", exporter)
        assert code == 0, err
        assert (tmp_path / f"{exporter}.recording.json").exists()
        onnx.checker.check_model(str(tmp_path / f"{exporter}.onnx"))


def test_mistakes_are_explained(maker, tmp_path, command):
    for arguments, code, message in (
            (("record", "maker_under_test"), 2, "not MODULE:FUNCTION"),
            (("record", "nowhere:make"), 2, "No module named 'nowhere'"),
            (("record", "nowhere.py:make"), 2, "no such file"),
            (("record", "maker_under_test:mkae"), 2, "it has: Layer, Stack, make"),
            (("record", "maker_under_test:wrong"), 2, "must return a torch.nn.Module"),
            (("record", "maker_under_test:broken"), 1, "ValueError while the model was built or run; nothing written"),
            (("record", "maker_under_test:alone", "--fx"), 2, "return (model, inputs)"),
            (("record", "maker_under_test:make", "-o", "no/such/folder/r.json"), 4, "No such file"),
            ((), 2, "usage: python -m onnx_tag")):
        got, out, err = command(tmp_path, *arguments)
        assert got == code and message in err and out == "", (arguments, got, err)
    code, out, _ = command(tmp_path, "--help")
    assert code == 0 and "record my_models:tiny_bert" in out
    assert command(tmp_path, "--version")[1].startswith("onnx_tag 0.")


class Conditional(nn.Module):
    def forward(self, x):
        return x * 2


def test_a_failing_export_leaves_the_model_alone(tmp_path):
    model = Conditional().train()
    with pytest.raises(Exception):                          # noqa: B017
        export_and_record(model, torch.ones(1), tmp_path / "no" / "such" / "m.onnx", dynamo=False)
    assert model.training and not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize("dynamo", [False, True])
def test_export_and_tag_is_one_call(maker, tmp_path, binary, dynamo):
    model, x = make(maker)
    tags = export_and_tag(model, x, tmp_path / "m.onnx", dynamo=dynamo, tag_options={"min_coverage": 90})
    assert {p.name for p in tmp_path.glob("m.*")} - {"m.onnx.data"} == {"m.onnx", "m.tags.json", "m.recording.json"}
    exported = onnx.load(tmp_path / "m.onnx")
    products = [n for n in exported.graph.node if n.op_type in ("Gemm", "MatMul")]
    assert [tags.node(n).module for n in products] == ["layers.0.fc", "layers.1.fc"]
    assert [tags.bind(model).module(n) for n in products] == [layer.fc for layer in model.layers]
    assert any(p.key == "pkg.onnx_tag.module" for p in products[0].metadata_props)


def hugging_face(name):
    transformers = pytest.importorskip("transformers")
    ids = torch.ones(1, 8, dtype=torch.long)
    inputs = {"input_ids": ids, "attention_mask": ids}
    small = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 32}
    if name == "bert":
        return transformers.BertModel(transformers.BertConfig(**small)), inputs
    if name == "gpt2":
        config = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=16)
        return transformers.GPT2LMHeadModel(config), inputs
    if name == "t5":
        config = transformers.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
        return transformers.T5ForConditionalGeneration(config), {"input_ids": ids, "decoder_input_ids": ids}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**small, num_key_value_heads=1)), inputs


def cache_flags(model):
    configs = [module.config for module in model.modules() if hasattr(module, "config")]
    return [getattr(config, "use_cache", None) for config in configs]


@pytest.mark.parametrize("dynamo", [False, True])
@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "llama"])
def test_hugging_face_models_are_exported_and_tagged_in_one_call(name, dynamo, tmp_path, binary):
    model, inputs = hugging_face(name)
    flags = cache_flags(model)
    tags = export_and_tag(model, inputs, tmp_path / "m.onnx", dynamo=dynamo)
    onnx.checker.check_model(str(tmp_path / "m.onnx"))
    assert [i.name for i in onnx.load(tmp_path / "m.onnx").graph.input] == list(inputs)
    tags.bind(model)                                        # every module of a tag is in the model
    assert tags.module("").class_name == type(model).__name__
    assert tags.query("type=attention and layer=0") and tags.query("type=attention and layer=1")
    assert "forward" not in vars(model)
    assert cache_flags(model) == flags


@pytest.mark.parametrize("name", ["gpt2", "t5", "llama"])
def test_generating_models_have_an_fx_graph(name):
    model, inputs = hugging_face(name)
    flags = cache_flags(model)
    recording = record(model, inputs, fx="required")
    assert recording["fx_source"]["tracer"] == "torch.export" and len(recording["fx"]) > 50
    modules = {node["module"] for node in recording["fx"] if "module" in node}
    assert modules <= set(recording["modules"]) and len(modules) > 10
    assert cache_flags(model) == flags


def test_a_missing_program_is_noticed_before_the_export(tmp_path, monkeypatch):
    monkeypatch.setenv("ONNX_TAG_PROGRAM", str(tmp_path / "gone"))
    with pytest.raises(ProgramError, match="ONNX_TAG_PROGRAM"):
        export_and_tag(torch.nn.Linear(2, 2), torch.ones(1, 2), tmp_path / "m.onnx")
    assert os.listdir(tmp_path) == []


def test_inputs_without_tensors_are_settings(tmp_path, binary):
    model, inputs = hugging_face("bert")
    for dynamo in (False, True):
        path = tmp_path / f"{dynamo}.onnx"
        export_and_tag(model, {**inputs, "output_attentions": False, "token_type_ids": None}, path, dynamo=dynamo)
        assert [i.name for i in onnx.load(path).graph.input] == list(inputs)


def test_names_of_modelinsider_are_tag_and_record(maker, tmp_path, binary):
    from onnx_tag import SemanticMapper, TracingHierarchyBuilder
    model, x = make(maker)
    path = tmp_path / "stack.onnx"
    export_and_record(model, x, path, dynamo=False, input_names=["x"])
    before = set(tmp_path.iterdir())
    for source in (str(path), onnx.load(str(path))):
        nodes = SemanticMapper(model, source).map_all_nodes()
        assert len(nodes) == len(onnx.load(str(path)).graph.node)
        products = {node.module for node in nodes.values() if node.op in ("Gemm", "MatMul")}
        assert products == {"layers.0.fc", "layers.1.fc"}
        assert {node.class_name for node in nodes.values() if node.module == "layers.0"} == {"Layer"}
    assert set(tmp_path.iterdir()) == before
    builder = TracingHierarchyBuilder()
    hierarchy_metadata = builder.trace_model_execution(model, x)
    assert hierarchy_metadata["modules"]["layers.0.fc"]["class_name"] == "Linear"
    # The other form needs no live model; a map without the name `modules` will do.
    for facts in (hierarchy_metadata, hierarchy_metadata["modules"], {"hierarchy": hierarchy_metadata["modules"]}):
        nodes = SemanticMapper(str(path), facts).map_all_nodes()
        assert {node.class_name for node in nodes.values() if node.module == "layers.0"} == {"Layer"}
    for wrong in ((model, model), (str(path), str(path)), (hierarchy_metadata, hierarchy_metadata)):
        with pytest.raises(TagsError, match="onnx_model, hierarchy_metadata"):
            SemanticMapper(*wrong)
    ran = builder.get_complete_hierarchy()
    assert ran["layers.0.fc"]["class_name"] == "Linear" and "layers" not in ran
    assert builder.get_execution_summary()["total_modules_traced"] == len(ran) < len(builder.recording["modules"])


def test_names_of_hierarchy_exporters_are_export_and_tag(maker, tmp_path, binary):
    from onnx_tag import HierarchyExporter, export_hf_model_with_semantics
    model, x = make(maker)
    exporter = HierarchyExporter(strategy="usage_based", torch_nn_exceptions=["Linear"])
    counts = exporter.export(model, x, tmp_path / "a.onnx", dynamo=False)
    assert counts["strategy"] == "usage_based" and 0 < counts["tagged_operations"] <= counts["total_operations"]
    assert any((node.hierarchy_tag or "").endswith("/Linear") for node in exporter.tags)
    onnx_model, mapper = export_hf_model_with_semantics(model, x, tmp_path / "b.onnx", dynamo=False)
    assert len(onnx_model.graph.node) == mapper.get_mapping_statistics()["total_onnx_nodes"]


def test_the_lines_of_the_page_for_users_who_move_over_run(tmp_path, binary, monkeypatch):
    import torch
    page = (pathlib.Path(__file__).parents[2] / "docs/guide/moving-over.md").read_text(encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    inputs = torch.ones(1, 4)
    monkeypatch.chdir(tmp_path)
    torch.onnx.export(model, (inputs,), "model.onnx", dynamo=False)
    space = {"model": model, "inputs": inputs}
    exec(compile(code, "moving-over.md", "exec"), space)
    assert {node.module for node in space["nodes"].values() if node.op == "Gemm"} == {"0"}
