"""The recorder on real torch: what it sees, and that it leaves nothing behind."""
from __future__ import annotations

import json
import threading
import time
import warnings

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from onnx_tag import Recorder, RecordingError, record  # noqa: E402
from onnx_tag.__main__ import main  # noqa: E402
from onnx_tag.fx import RecordingWarning  # noqa: E402


class Block(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.act = nn.ReLU()

    def forward(self, x, scale=1.0):
        return self.act(self.fc(x)) * scale


class Net(nn.Module):
    """Lists, dictionaries, a module called twice, one held twice, one never called, a tied weight."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.heads = nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)})
        self.again = self.blocks[0]
        self.unused = nn.Linear(4, 4)
        self.out = nn.Linear(4, 10, bias=False)
        self.out.weight = self.embed.weight
        self.shift = torch.ones(4)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, ids, head="a", *, mask=None):
        x = self.embed(ids) - self.mean + self.shift
        for block in self.blocks:
            x = block(x)
        x = self.again(x, scale=2.0)
        if mask is not None:
            x = x * mask
        return {"head": self.heads[head](x), "logits": self.out(x)}


IDS = torch.tensor([[1, 2, 3]])
MODES = ("eager", "traced")


def hooks(model):
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def operations(recording, path):
    return [e["op"] for e in recording["events"] if e["module"] == path]


def test_without_inputs_only_the_module_map_is_made(schema, tmp_path):
    recording = record(Net(), path=tmp_path / "r.json")
    assert set(recording) == {"format", "tool", "modules"}
    assert json.loads((tmp_path / "r.json").read_text()) == recording
    schema.validate(recording)
    modules = recording["modules"]
    assert list(modules)[:3] == ["", "embed", "blocks"]
    assert modules[""]["class"] == "Net" and modules[""]["qualified"].endswith("test_record.Net")
    assert modules["blocks"] == {"class": "ModuleList", "qualified": "torch.nn.modules.container.ModuleList",
                                 "container": True}
    assert modules["heads"]["container"] and "container" not in modules["blocks.0"]
    assert modules["again"]["shared_with"] == "blocks.0" and modules["again.fc"]["shared_with"] == "blocks.0.fc"
    assert modules["blocks.0.fc"]["parameters"] == {"weight": [4, 4], "bias": [4]}
    assert modules["out"]["tied"] == {"weight": "embed.weight"}
    assert modules[""]["buffers"] == {"mean": [4]}


@pytest.mark.parametrize("mode", MODES)
def test_a_run_gives_calls_events_and_values(mode, schema):
    recording = record(Net(), IDS, run=mode)
    schema.validate(recording)
    assert recording["run"] == {"mode": mode}
    modules = recording["modules"]
    assert modules["blocks.0"]["calls"] == 2 and modules["blocks.1"]["calls"] == 1
    assert "calls" not in modules["unused"] and "calls" not in modules["blocks"]
    assert modules["embed"]["order"] < modules["blocks.0"]["order"] < modules["heads.a"]["order"]
    assert [c["number"] for c in recording["calls"] if c["module"] == "blocks.0"] == [0, 1]
    assert "aten.embedding.default" in operations(recording, "embed")
    assert "aten.addmm.default" in operations(recording, "blocks.1.fc")
    assert operations(recording, "blocks.1.act") == ["aten.relu.default"]
    assert len([op for op in operations(recording, "blocks.0.act")]) == 2
    assert recording["inputs"] == [{"name": "ids", "value": recording["inputs"][0]["value"]}]
    assert [o["name"] for o in recording["outputs"]] == ["head", "logits"]
    named = {v["name"]: v["kind"] for v in recording["values"] if "name" in v}
    assert named["embed.weight"] == "parameter" and named["mean"] == "buffer" and named["shift"] == "attribute"
    assert "out.weight" not in named


@pytest.mark.parametrize("mode", MODES)
def test_values_connect_operations(mode):
    recording = record(Net(), IDS, run=mode)
    made = {v: e for e in recording["events"] for v in e["outputs"]}

    def sources(value, seen):
        """Names of the tensors a value depends on."""
        entry = recording["values"][value]
        if "name" in entry:
            return {entry["name"]}
        if value in seen or value not in made:
            return set()
        seen.add(value)
        flat = [a for a in made[value]["inputs"] if isinstance(a, int)]
        return set().union(*(sources(v, seen) for v in flat))

    head = recording["outputs"][0]["value"]
    assert sources(head, set()) == {"ids", "embed.weight", "mean", "shift", "blocks.0.fc.weight", "blocks.0.fc.bias",
                                    "blocks.1.fc.weight", "blocks.1.fc.bias", "heads.a.weight", "heads.a.bias"}


def test_events_belong_to_the_function_that_asked():
    recording = record(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), torch.ones(2, 3, 4))
    names = [f["name"] for f in recording["functions"]]
    assert names == ["torch.nn.functional.linear", "torch.nn.functional.layer_norm"]
    for number, function in enumerate(recording["functions"]):
        first, last = function["events"]
        assert all(e["function"] == number for e in recording["events"][first:last])
    linear, norm = recording["functions"]
    assert linear["outputs"] == norm["inputs"][:1]
    assert recording["outputs"][0]["value"] == norm["outputs"][0]


def test_the_stack_tells_who_called_a_shared_module():
    class Inner(nn.Module):
        def __init__(self, act):
            super().__init__()
            self.act = act

        def forward(self, x):
            return self.act(x)

    act = nn.GELU()
    recording = record(nn.Sequential(Inner(act), Inner(act)), torch.ones(3))
    gelu = [c for c in recording["calls"] if c["module"] == "0.act"]
    assert [recording["calls"][c["parent"]]["module"] for c in gelu] == ["0", "1"]
    assert recording["modules"]["1.act"]["shared_with"] == "0.act"


def test_keywords_and_several_inputs_have_the_names_of_forward():
    recording = record(Net(), (IDS, "b"), {"mask": torch.ones(1, 3, 1)})
    assert [i["name"] for i in recording["inputs"]] == ["ids", "mask"]
    assert "calls" in recording["modules"]["heads.b"] and "calls" not in recording["modules"]["heads.a"]
    recording = record(Net(), {"mask": torch.ones(1, 3, 1), "ids": IDS})
    assert [i["name"] for i in recording["inputs"]] == ["ids", "mask"]


def test_nested_inputs_and_outputs_are_named_by_their_keys():
    class Pair(nn.Module):
        def forward(self, pair, more):
            return [pair[0] + more["x"], (pair[1],)]

    recording = record(Pair(), ((torch.ones(1), torch.ones(2)), {"x": torch.ones(1)}))
    assert [i["name"] for i in recording["inputs"]] == ["pair.0", "pair.1", "more.x"]
    assert [o["name"] for o in recording["outputs"]] == ["0", "1.0"]
    assert recording["outputs"][1]["value"] == recording["inputs"][1]["value"]


@pytest.mark.parametrize("mode", MODES)
def test_writing_in_place_makes_a_new_value(mode):
    class InPlace(nn.Module):
        def forward(self, x):
            y = x * 2
            y.add_(1)
            return y.relu()

    recording = record(InPlace(), torch.ones(3), run=mode)
    times, add, relu = [e for e in recording["events"] if e["op"].split(".")[1] in ("mul", "add_", "relu")]
    assert add["inputs"][0] == times["outputs"][0]
    assert add["outputs"] != times["outputs"]
    assert relu["inputs"] == add["outputs"]


@pytest.mark.parametrize("mode", MODES)
def test_a_write_through_a_view_reaches_the_whole(mode):
    class ThroughView(nn.Module):
        def forward(self, x):
            y = x * 2
            y[0] = 7.0
            y[1:].mul_(3)
            return y.relu()

    recording = record(ThroughView(), torch.ones(3), run=mode)
    relu = [e for e in recording["events"] if e["op"].startswith("aten.relu")][0]
    read = recording["values"][relu["inputs"][0]]
    times = [e for e in recording["events"] if e["op"] == "aten.mul_.Tensor"][0]
    assert read["merges"][1] == times["outputs"][0]
    first = [e for e in recording["events"] if e["op"].startswith("aten.mul.")][0]
    whole = read
    while "merges" in whole:                                # one step for each write
        source = whole["merges"][0]
        whole = recording["values"][source]
    assert source == first["outputs"][0]


def test_views_keep_their_source():
    class Views(nn.Module):
        def forward(self, x):
            return x.transpose(0, 1).reshape(-1)[1:] + 1

    for mode in MODES:
        recording = record(Views(), torch.ones(2, 3), run=mode)
        made = {v: e for e in recording["events"] for v in e["outputs"]}
        value = recording["outputs"][0]["value"]
        chain = []
        while value in made:
            chain.append(made[value]["op"].split(".")[1])
            value = made[value]["inputs"][0]
        assert value == recording["inputs"][0]["value"], (mode, chain)
        assert chain[0] == "add" and "transpose" in chain


def test_memory_used_again_is_not_taken_for_the_old_value():
    class Churn(nn.Module):
        def forward(self, x):
            total = x
            for k in range(50):
                total = total + torch.full((64, 64), float(k)).sum()
            return total

    recording = record(Churn(), torch.ones(1), run="eager")
    made = [v for e in recording["events"] for v in e["outputs"]]
    assert len(made) == len(set(made))
    sums = [e for e in recording["events"] if e["op"].startswith("aten.sum")]
    fulls = [e for e in recording["events"] if e["op"].startswith("aten.full")]
    assert [s["inputs"][0] for s in sums] == [f["outputs"][0] for f in fulls]


class Raises(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.ReLU()

    def forward(self, x):
        self.second(self.first(x))
        raise ValueError("not today")


def test_an_exception_goes_through_and_everything_is_unhooked():
    model = Raises().train()
    model.second.eval()
    for mode in ("auto", "eager", "traced"):
        with pytest.raises(ValueError, match="not today"):
            record(model, torch.ones(1, 2), run=mode)
        assert hooks(model) == 0
        assert model.training and model.first.training and not model.second.training
        assert torch.is_grad_enabled()
        assert not torch.jit.is_tracing()
    seen = []
    with Recorder(nn.ReLU()) as recorder:
        seen.append(recorder)
    torch.ones(1) + 1
    assert recorder.events == []


def test_an_exception_that_the_model_catches_does_not_shift_the_stack():
    class Tries(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad, self.good = Raises(), nn.Sigmoid()

        def forward(self, x):
            try:
                x = self.bad(x)
            except ValueError:
                x = x * 3
            return self.good(x)

    recording = record(Tries(), torch.ones(1, 2), run="eager")
    assert "aten.mul.Tensor" in operations(recording, "")
    assert operations(recording, "good") == ["aten.sigmoid.default"]
    assert [c["parent"] for c in recording["calls"] if c["module"] == "good"] == [0]


def test_hooks_flags_and_modes_are_as_before():
    model = Net().train()
    model.blocks[1].eval()
    calls = []
    handle = model.register_forward_hook(lambda *_: calls.append(1))
    weight = model.out.weight.clone()
    before = torch.backends.mha.get_fastpath_enabled()
    record(model, IDS, fx=True)
    assert calls
    handle.remove()
    assert hooks(model) == 0
    assert model.training and not model.blocks[1].training and model.blocks[0].training
    assert torch.is_grad_enabled() and torch.backends.mha.get_fastpath_enabled() == before
    assert torch.equal(weight, model.out.weight) and model.out.weight.requires_grad
    assert "recorder" not in dict(model.named_modules())


def test_two_runs_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        record(Net(), IDS, path=tmp_path / name, fx=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("mode", MODES)
def test_freed_memory_leaves_no_trace_in_a_recording(mode):
    torch.manual_seed(0)
    model, x = nn.MultiheadAttention(16, 4, batch_first=True).eval(), torch.ones(1, 5, 16)
    documents, kept = [], []
    for count in range(4):                                  # the allocator gives other addresses each time
        kept.append([torch.zeros(size + count) for size in range(40 * count)])
        documents.append(json.dumps(record(model, (x, x, x), run=mode)))
    assert set(documents) == {documents[0]}


def test_modules_may_be_called_from_outside():
    model = Net()
    with torch.no_grad(), Recorder(model) as recorder:
        x = model.embed(IDS)
        y = model.blocks[1](x)
        y + 1
    sections = recorder.document()
    assert [(c["module"], c["parent"]) for c in sections["calls"]] == [
        ("embed", None), ("blocks.1", None), ("blocks.1.fc", 1), ("blocks.1.act", 1)]
    assert sections["events"][-1]["op"] == "aten.add.Tensor"
    assert sections["events"][-1]["module"] is None and sections["events"][-1]["call"] is None
    assert hooks(model) == 0


def test_a_scripted_model_is_recorded_as_far_as_it_can_be_seen():
    recording = record(torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.ReLU())), torch.ones(1, 2))
    assert recording["modules"]["0"]["class"] == "Linear"
    assert "aten.relu.default" in [e["op"] for e in recording["events"]]


def test_recurrent_layers_are_one_function():
    recording = record(nn.LSTM(3, 4, num_layers=2, batch_first=True), torch.ones(1, 5, 3))
    assert "torch.lstm" in [f["name"] for f in recording["functions"]]
    assert [o["name"] for o in recording["outputs"]] == ["0", "1.0", "1.1"]


def test_the_fx_graph_has_modules_and_parameters(schema):
    recording = record(Net(), IDS, fx=True)
    schema.validate(recording)
    assert recording["fx_source"]["tracer"] == "torch.export"
    by_target = {(n["target"], n.get("module")) for n in recording["fx"] if n["op"] == "call_function"}
    assert ("aten.embedding.default", "embed") in by_target
    assert ("aten.linear.default", "blocks.1.fc") in by_target or ("aten.addmm.default", "blocks.1.fc") in by_target
    assert {"embed.weight", "heads.a.bias", "mean"} <= {n.get("parameter") for n in recording["fx"]}
    relu = [n for n in recording["fx"] if n["target"] == "aten.relu.default" and n["module"] == "blocks.1.act"][0]
    assert relu["stack"] == [["", "Net"], ["blocks.1", "Block"], ["blocks.1.act", "ReLU"]]
    assert relu["shape"] == [1, 3, 4] and relu["dtype"] == "float32"


def test_what_torch_export_cannot_follow_is_traced_symbolically(monkeypatch):
    monkeypatch.setattr(torch.export, "export", lambda *a, **k: (_ for _ in ()).throw(RuntimeError("no")))
    recording = record(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.ones(1, 2), fx=True)
    assert recording["fx_source"]["tracer"] == "torch.fx.symbolic_trace"
    assert [n["module"] for n in recording["fx"] if n["op"] == "call_module"] == ["0", "1"]


def test_what_nobody_can_trace_gives_a_warning_and_no_section():
    class Data(nn.Module):
        def forward(self, x):
            n = int(x.sum().item())
            return torch.ones([n for _ in range(n)]) if n > 1 else x

    with pytest.warns(RecordingWarning, match="(?s)no FX section.*torch.export.*symbolic_trace"):
        recording = record(Data(), torch.ones(2), fx=True, run="eager")
    assert "fx" not in recording and recording["events"]
    with pytest.raises(RecordingError, match="no FX graph"):
        record(Data(), torch.ones(2), fx="required", run="eager")


def test_the_command_fails_without_the_fx_graph_that_it_was_asked_for(tmp_path, monkeypatch, capsys):
    (tmp_path / "untraceable.py").write_text(
        "import torch\nclass Data(torch.nn.Module):\n    def forward(self, x):\n        n = int(x.sum().item())\n"
        "        return torch.ones([n for _ in range(n)])\n"
        "def make():\n    return Data(), torch.ones(2)\n")
    monkeypatch.chdir(tmp_path)
    assert main(["record", "untraceable.py:make", "--fx", "-o", "r.json"]) == 1
    assert "no FX graph" in capsys.readouterr().err and not (tmp_path / "r.json").exists()
    assert main(["record", "untraceable.py:make", "-o", "r.json"]) == 0


def test_wrong_use_is_refused():
    with pytest.raises(RecordingError, match="fx=True needs inputs"):
        record(Net(), fx=True)
    with pytest.raises(RecordingError, match="'traced', 'eager', 'auto'"):
        record(Net(), IDS, run="fast")


def test_models_that_look_whether_they_are_traced_take_the_exporters_way():
    class Shortcut(nn.Module):
        def forward(self, x, mask):
            if not torch.jit.is_tracing() and bool(mask.all()):
                return x
            return x.masked_fill(~mask, 0.0)

    args = (torch.ones(3), torch.ones(3, dtype=torch.bool))
    assert "aten.masked_fill.Scalar" in [e["op"] for e in record(Shortcut(), args)["events"]]
    assert "aten.masked_fill.Scalar" not in [e["op"] for e in record(Shortcut(), args, run="eager")["events"]]


def test_sizes_are_values_in_a_traced_run():
    class Flat(nn.Module):
        def forward(self, x):
            return x.view(x.shape[0] * x.size(1))

    recording = record(Flat(), torch.ones(2, 3), run="traced")
    sizes = [v for v in recording["values"] if v.get("kind") == "size"]
    assert {(v["of"], v["axis"]) for v in sizes} == {(recording["inputs"][0]["value"], 0),
                                                     (recording["inputs"][0]["value"], 1)}


def test_no_warning_reaches_the_user():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record(Net(), IDS)


class Remembers(nn.Module):
    """As detection heads do: the grid is made in the first run and kept."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.grid = None

    def forward(self, x):
        if self.grid is None:
            self.grid = torch.arange(x.shape[1]) * 1.0
        return self.fc(x) + self.grid


def test_what_a_tracer_shows_a_model_does_not_stay_behind():
    model = Remembers()
    recording = record(model, torch.ones(1, 3), fx=True)
    assert recording["run"] == {"mode": "traced"} and recording["fx_source"]["tracer"] == "torch.export"
    assert model.grid is None and model.fc.weight.requires_grad
    assert "aten.arange.default" in operations(recording, "")


def test_a_replaced_forward_is_still_followed():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    before = model.forward
    model.forward = lambda x: before(x) * 2
    recording = record(model, torch.ones(1, 2))
    assert operations(recording, "1") == ["aten.relu.default"] and "aten.mul.Tensor" in operations(recording, "")
    assert "forward" in vars(model)


def test_the_module_map_needs_no_weights():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(100000, 100000), nn.ReLU())
    assert record(model)["modules"]["0"]["parameters"] == {"weight": [100000, 100000], "bias": [100000]}


def innermost(recording, entry):
    """File and code of the innermost frame."""
    frame, code = recording["tracebacks"][entry["traceback"]].splitlines()[-2:]
    return frame.split('"')[1], code.strip()


@pytest.mark.parametrize("mode", MODES)
def test_an_operation_knows_its_line(mode):
    recording = record(Net(), IDS, run=mode)
    scaled = [e for e in recording["events"] if e["op"] == "aten.mul.Tensor" and e["module"] == "blocks.0"]
    for event in scaled:
        assert innermost(recording, event) == (__file__, "return self.act(self.fc(x)) * scale")
    fc = next(e for e in recording["events"] if e["module"] == "blocks.0.fc")
    lines = recording["tracebacks"][fc["traceback"]].splitlines()
    assert 'torch/nn/modules/linear.py"' in lines[-2] and "self.act(self.fc(x))" in lines[-3]
    assert lines[0].startswith(f'File "{__file__}"') and lines[0].endswith("in forward"), "not the test, not torch"
    call = next(c for c in recording["calls"] if c["module"] == "blocks.0.fc")
    assert innermost(recording, call) == (__file__, "return self.act(self.fc(x)) * scale")
    root = next(c for c in recording["calls"] if c["module"] == "")
    assert "traceback" not in root, "what calls the model is not the model"
    assert len(set(recording["tracebacks"])) == len(recording["tracebacks"]), "each once"


def test_fx_nodes_have_tracebacks_of_the_same_table():
    recording = record(Block(), torch.ones(1, 4), fx=True)
    nodes = [n for n in recording["fx"] if n["op"] == "call_function"]
    assert nodes and all("traceback" in n and "stack_trace" not in n for n in nodes)
    assert innermost(recording, nodes[-1]) == (__file__, "return self.act(self.fc(x)) * scale")


class Slow(nn.Module):
    """Gives other threads time to run while it does."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        time.sleep(0.05)
        return self.fc(x)


def in_threads(*jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("run", MODES)
def test_threads_that_record_one_model_get_the_recording_of_one_alone(run):
    model = nn.Sequential(Slow(), Slow()).train()
    x = torch.zeros(1, 4)
    alone = record(model, x, run=run)
    found = []
    in_threads(*[lambda: found.append(record(model, x, run=run))] * 4)
    assert [recording == alone for recording in found] == [True] * 4
    assert hooks(model) == 0 and model.training and model[0].fc.training


def test_a_recorder_does_not_see_calls_of_other_threads():
    model = nn.Sequential(Slow(), Slow())
    x = torch.zeros(1, 4)
    with Recorder(model) as recorder:
        in_threads(lambda: model(x))
        model(x)
    assert [call["module"] for call in recorder.calls] == ["", "0", "0.fc", "1", "1.fc"]
