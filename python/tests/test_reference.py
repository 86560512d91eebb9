"""References: what is in them, how large they get, and that no file can do harm."""
from __future__ import annotations

import io
import json
import math
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict

import jsonschema
import numpy as np
import pytest
import torch
from conftest import ROOT
from torch import nn

from onnx_tag.__main__ import main
from onnx_tag.errors import InputError, OutputError
from onnx_tag.measures import SAMPLE
from onnx_tag.reference import Reference, is_reference, record_reference

SCHEMA = json.loads((ROOT / "docs/reference/schemas/reference.schema.json").read_text())


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.act = nn.Conv1d(3, 5, 3, padding=1), nn.BatchNorm1d(5), nn.ReLU(inplace=True)
        self.out = nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> Dict[str, torch.Tensor]:
        y = self.act(self.norm(self.conv(x)))
        return {"logits": self.out(y.transpose(1, 2) * 2), "features": y}


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block()])
        self.twice = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.twice(self.twice(self.blocks[0](x)["logits"]))


def make() -> nn.Module:
    torch.manual_seed(1)
    return Net().eval()


X = torch.linspace(-1, 1, 2 * 3 * 7).reshape(2, 3, 7)


def test_a_reference_has_every_output_of_every_module(tmp_path: Path) -> None:
    model = make().train()
    document = record_reference(model, X, tmp_path / "run.ref", tensors=["**", ""])
    assert model.training and not any(module._forward_hooks for module in model.modules())
    jsonschema.validate(json.loads(json.dumps(document)), SCHEMA)
    rows = {(row["module"], row["call"], row["output"]): row for row in document["outputs"]}
    assert set(rows) == {("blocks.0.conv", 0, 0), ("blocks.0.norm", 0, 0), ("blocks.0.act", 0, 0),
                         ("blocks.0.out", 0, 0), ("blocks.0", 0, 0), ("blocks.0", 0, 1), ("twice", 0, 0),
                         ("twice", 1, 0), ("", 0, 0)}
    # Which module read what, and which values are one.
    assert rows["blocks.0.conv", 0, 0]["read_by"] == ["blocks.0.norm"]
    assert rows["", 0, 0]["identity"] == rows["twice", 1, 0]["identity"]
    assert rows["blocks.0", 0, 0]["name"] == "logits"
    # What code between modules makes: the doubled values.
    assert ("blocks.0.out", 0) in {(row["module"], row["input"]) for row in document["given"]}

    reference = Reference(str(tmp_path / "run.ref"))
    assert is_reference(str(tmp_path / "run.ref"))
    values = reference.run(["blocks.0.norm", "twice"], {})
    # The activation changes its input in place: the norm's own output is there.
    model.eval()
    with torch.no_grad():
        expected = model.blocks[0].norm(model.blocks[0].conv(X)).numpy()
    assert (expected < 0).any()
    np.testing.assert_array_equal(values.outputs["blocks.0.norm"][0].tensor, expected)
    assert len(values.outputs["twice"]) == 2
    np.testing.assert_array_equal(reference.inputs["x"], X.numpy())
    assert reference.classes()["blocks.0.conv"] == "Conv1d"


def test_the_line_that_calls_a_module_is_known_and_no_path_of_the_machine(tmp_path: Path) -> None:
    document = record_reference(make(), X, tmp_path / "run.ref")
    lines = {(row["module"], row["call"]): row["source_line"] for row in document["outputs"]}
    texts = Path(__file__).read_text().splitlines()
    for module, code in (("blocks.0.conv", "y = self.act(self.norm(self.conv(x)))"),
                         ("blocks.0", 'return self.twice(self.twice(self.blocks[0](x)["logits"]))')):
        line = lines[module, 0]
        assert line["text"] == code == texts[line["line"] - 1].strip() and line["function"] == "forward"
        assert line["file"] == "test_reference.py"
    assert lines["", 0] is None                             # called by the recorder
    assert str(Path(__file__).parent) not in json.dumps(document)
    # Code of torch between the model and a module is left out.
    document = record_reference(nn.Sequential(nn.Sequential(nn.Linear(3, 3))), torch.ones(1, 3), tmp_path / "two.ref")
    assert all(row["source_line"] is None for row in document["outputs"])


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.ref", "b.ref"):
        record_reference(make(), X, tmp_path / name)
    assert (tmp_path / "a.ref").read_bytes() == (tmp_path / "b.ref").read_bytes()
    # It is a zip of .npy files and JSON; numpy reads the arrays without pickle.
    with zipfile.ZipFile(tmp_path / "a.ref") as file:
        for name in file.namelist():
            assert name in ("onnx-tag-reference", "reference.json") or name.endswith(".npy")
            if name.endswith(".npy"):
                np.load(io.BytesIO(file.read(name)), allow_pickle=False)


def test_modules_and_sizes_are_chosen(tmp_path: Path) -> None:
    document = record_reference(make(), X, tmp_path / "some.ref", modules=["blocks.*.conv", "twice"])
    assert {row["module"] for row in document["outputs"]} == {"blocks.0.conv", "twice"}
    assert all(row["tensor"] is None and row["sample"] for row in document["outputs"])
    with pytest.raises(InputError, match="no module that fits"):
        record_reference(make(), X, tmp_path / "none.ref", modules=["encoder"])

    large = torch.zeros(2, 3, SAMPLE)
    document = record_reference(make(), large, tmp_path / "sampled.ref", modules=["blocks.0.conv"])
    row = document["outputs"][0]
    assert row["statistics"]["count"] == 2 * 5 * SAMPLE
    recorded = Reference(str(tmp_path / "sampled.ref")).run(["blocks.0.conv"], {}).outputs["blocks.0.conv"][0]
    assert recorded.tensor is None and recorded.sample is not None and recorded.sample.size == SAMPLE

    # Arrays without room are left out; statistics stay.
    document = record_reference(make(), X, tmp_path / "small.ref", tensors=["**"], max_size=X.numpy().nbytes + 300)
    assert document["left_out"] > 0
    assert (tmp_path / "small.ref").stat().st_size < 20_000
    assert all(row["statistics"]["mean"] is not None for row in document["outputs"])
    Reference(str(tmp_path / "small.ref")).run([row["module"] for row in document["outputs"]], {})
    with pytest.raises(OutputError, match="--max-size"):
        record_reference(make(), X, tmp_path / "tiny.ref", max_size=10)
    assert not (tmp_path / "tiny.ref").exists() and not (tmp_path / "none.ref").exists()


def test_values_that_are_no_numbers_are_counted(tmp_path: Path) -> None:
    class Odd(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.tensor([math.nan, math.inf, -math.inf, torch.finfo(torch.float32).min, 2.0])
    document = record_reference(Odd(), X, tmp_path / "odd.ref")
    known = document["outputs"][0]["statistics"]
    assert [known[key] for key in ("nan", "infinite", "negative_infinite", "masks")] == [1, 1, 1, 2]
    assert (known["min"], known["max"]) == (2.0, 2.0)


# ------------------------------------------------------------ files that others made
def rewritten(path: Path, change: Any, name: str = "reference.json") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            if info.filename == name:
                data = change(data)
            if data is not None:
                new.writestr(info, data)
    return out.getvalue()


def edited(change: Any) -> Any:
    def apply(data: bytes) -> bytes:
        document = json.loads(data)
        change(document)
        return json.dumps(document).encode()
    return apply


def test_damaged_references_are_one_line(tmp_path: Path, binary: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.ref"
    record_reference(make(), X, path)
    whole = path.read_bytes()
    pickled = io.BytesIO()
    np.lib.format.write_array(pickled, np.array([{}], dtype=object), allow_pickle=True)
    bomb = io.BytesIO()
    np.lib.format.write_array_header_1_0(bomb, {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)})
    cases = {
        "cut": whole[:len(whole) // 2],
        "only its head": whole[:64],
        "no json": rewritten(path, lambda data: None),
        "not json": rewritten(path, lambda data: b"{"),
        "a list": rewritten(path, lambda data: b"[]"),
        "deep": rewritten(path, lambda data: b"[" * 100_000),
        "other format": rewritten(path, edited(lambda d: d.update(format="onnx-tag-reference/9"))),
        "no outputs": rewritten(path, edited(lambda d: d.pop("outputs"))),
        "wrong shape": rewritten(path, edited(lambda d: d["outputs"][0].update(shape=["x"]))),
        "other size": rewritten(path, edited(lambda d: d["outputs"][0].update(shape=[1, 2]))),
        "missing array": rewritten(path, edited(lambda d: d["outputs"][0].update(sample="../etc/passwd"))),
        "array is no name": rewritten(path, edited(lambda d: d["outputs"][0].update(sample={"a": 1}))),
        "line": rewritten(path, edited(lambda d: d["outputs"][0].update(source_line={"file": 7}))),
        "statistics": rewritten(path, edited(lambda d: d["outputs"][0]["statistics"].update(nan="x"))),
        "pickle": rewritten(path, lambda data: pickled.getvalue(), "samples/0.npy"),
        "bomb": rewritten(path, lambda data: bomb.getvalue(), "samples/0.npy"),
        "no inputs": rewritten(path, edited(lambda d: d.update(inputs=[{"name": "x"}]))),
    }
    model = str(ROOT / "tests/models/bert_tiny/model.onnx")
    for name, data in cases.items():
        bad = tmp_path / "bad.ref"
        bad.write_bytes(data)
        with pytest.raises(InputError):
            reference = Reference(str(bad))
            reference.run(list(reference.classes()), reference.inputs)
        code = main(["compare", str(bad), model])
        said = capsys.readouterr()
        assert code in (2, 3) and said.out == "", name
        assert said.err.startswith("onnx_tag: ") and "Traceback" not in said.err, name


def test_what_is_no_reference_and_inputs_of_other_shapes_are_one_error(
        tmp_path: Path, binary: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "build_shapes.py").write_text(CODE)
    model = str(ROOT / "tests/models/bert_tiny/model.onnx")
    for name, data in (("empty.ref", b""), ("text.ref", b"not a zip"), ("other.ref", b"PK\x03\x04" + bytes(80))):
        (tmp_path / name).write_bytes(data)
        np.savez("wrong.npz", input=np.ones((2, 9), np.float32))
        for words in ([name, model], [name, model, "--inputs", "wrong.npz"]):
            assert main(["compare", *words, "--tsv", "out.tsv"]) in (2, 3)
            said = capsys.readouterr()
            assert said.out == "" and name in said.err and len(said.err.splitlines()) <= 3, said.err
    for words in (["reference", "build_shapes.py:make", "--inputs", "wrong.npz", "-o", "out.ref"],
                  ["compare", "build_shapes.py:make", model, "--inputs", "wrong.npz", "--tsv", "out.tsv"]):
        assert main(words) == 3
        said = capsys.readouterr()
        assert "build_shapes.py:make: RuntimeError" in said.err and "mat1 and mat2" in said.err
        assert said.out == "" and len(said.err.splitlines()) == 2
    assert not (tmp_path / "out.tsv").exists() and not (tmp_path / "out.ref").exists()


def test_a_reference_of_another_model_is_refused(tmp_path: Path, binary: str,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.ref"
    record_reference(make(), X, path)
    assert main(["compare", str(path), str(ROOT / "tests/models/bert_tiny/model.onnx")]) in (2, 3)
    said = capsys.readouterr()
    assert said.out == "" and len(said.err.splitlines()) <= 3


# ------------------------------------------------------------ the command line
CODE = """import torch
def make():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
"""


def test_the_command_records_and_compare_needs_no_torch(tmp_path: Path, binary: str,
                                                        monkeypatch: pytest.MonkeyPatch,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONNX_TAG_PROGRAM", binary)
    (tmp_path / "build_reference.py").write_text(CODE)
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.savez("x.npz", input=x)
    assert main(["reference", "build_reference.py:make", "--inputs", "x.npz", "-o", "run.ref", "--tensors"]) == 0
    assert "4 outputs of 4 modules, 4 of them whole" in capsys.readouterr().out
    assert main(["reference", "build_reference.py:make", "-o", "other.ref"]) == 2       # no inputs
    assert main(["reference", "build_reference.py:make", "--inputs", "x.npz", "-o", "x.npz", "--force"]) == 4
    assert main(["reference", "build_reference.py:make", "--inputs", "x.npz", "-o", "build_reference.py",
                 "--force"]) == 4
    (tmp_path / "notes.txt").write_text("notes")
    assert main(["reference", "build_reference.py:make", "--inputs", "x.npz", "-o", "notes.txt"]) == 4
    assert main(["reference", "build_reference.py:make", "--inputs", "x.npz", "-o", "run.ref"]) == 0    # our own kind
    assert (tmp_path / "notes.txt").read_text() == "notes" and (tmp_path / "build_reference.py").read_text() == CODE
    import build_reference  # type: ignore[import-not-found]
    torch.onnx.export(build_reference.make(), (torch.from_numpy(x),), "model.onnx", input_names=["input"], dynamo=False)
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    import os
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "python")])}
    words = [sys.executable, "-m", "onnx_tag", "compare", "run.ref", "model.onnx"]
    done = subprocess.run([*words, "--json"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {row["module"] for row in said["modules"]} >= {"0", "1", "2"}
    jsonschema.validate(said, json.loads((ROOT / "docs/reference/schemas/compare.schema.json").read_text()))
    # The same inputs may be given again, others not.
    assert subprocess.run([*words, "--inputs", "x.npz"], env=environment, capture_output=True,
                          check=False).returncode == 0
    np.savez("x.npz", input=x + 1)
    done = subprocess.run([*words, "--inputs", "x.npz"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "inputs of its own" in done.stderr
