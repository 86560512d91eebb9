"""compare: planted faults are found where they are, and equal models are equal."""
from __future__ import annotations

import copy
import json
import os
import subprocess
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import jsonschema
import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn

from onnx_tag import compare as comparing
from onnx_tag import program
from onnx_tag.__main__ import main
from onnx_tag.compare import OnnxSide, TorchSide, compare

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif("ONNX_TAG_BINARY" not in os.environ, reason="needs the program")


@pytest.fixture(autouse=True)
def _program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNX_TAG_PROGRAM", os.environ["ONNX_TAG_BINARY"])


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.query(x) @ self.key(x).transpose(1, 2) / x.shape[-1] ** 0.5
        return self.out(torch.softmax(scores, -1) @ self.value(x))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width)
        self.up, self.act, self.down = nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self, width: int = 16, layers: int = 3) -> None:
        super().__init__()
        self.stem = nn.Linear(8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def make() -> Tuple[nn.Module, Dict[str, np.ndarray]]:
    torch.manual_seed(3)
    model = Net().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model, {"x": torch.randn(1, 5, 8).numpy()}


def export(model: nn.Module, inputs: Dict[str, np.ndarray], path: Path, dynamo: bool = False) -> str:
    example = (torch.from_numpy(inputs["x"]),)
    torch.onnx.export(model, example, str(path), input_names=["x"], dynamo=dynamo, verbose=False)
    return str(path)


def epsilon(which: str) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        model.get_submodule(which).eps = 0.5
    return change


def swapped(which: str) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        attention = model.get_submodule(which)
        attention.query, attention.key = attention.key, attention.query
    return change


def half(which: str) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        for parameter in model.get_submodule(which).parameters():
            parameter.data = parameter.data.to(torch.bfloat16).to(torch.float32)
    return change


def quantized(which: str) -> Callable[[nn.Module], None]:
    def change(model: nn.Module) -> None:
        weight = model.get_submodule(which).weight
        scale = weight.data.abs().max() / 127
        weight.data = (weight.data / scale).round() * scale
    return change


# (fault, the module where it begins)
FAULTS: List[Tuple[str, Callable[[nn.Module], None], str]] = (
    [(f"epsilon {n}", epsilon(n), n) for n in
     ("blocks.0.norm1", "blocks.0.norm2", "blocks.1.norm1", "blocks.1.norm2", "blocks.2.norm1")]
    + [(f"swapped {n}", swapped(f"{n}.attention"), f"{n}.attention.query") for n in
       ("blocks.0", "blocks.1", "blocks.2")]
    + [(f"half {n}", half(n), n) for n in
       ("stem", "head", "blocks.0.up", "blocks.1.down", "blocks.2.attention.value", "blocks.2.attention.out")]
    + [(f"quantized {n}", quantized(n), n) for n in
       ("stem", "blocks.0.attention.query", "blocks.0.attention.key", "blocks.1.up", "blocks.2.down", "head")])


def test_there_are_twenty_faults() -> None:
    assert len(FAULTS) == 20


@pytest.mark.parametrize("name,change,where", FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_planted_fault_is_found_where_it_is(tmp_path: Path, name: str, change: Callable[[nn.Module], None],
                                              where: str) -> None:
    model, inputs = make()
    good = export(model, inputs, tmp_path / "good.onnx")
    wrong = copy.deepcopy(model)
    change(wrong)
    bad = export(wrong, inputs, tmp_path / "bad.onnx")
    tolerance: Dict[str, Any] = {"rtol": 1e-4, "atol": 1e-6}
    found = compare(OnnxSide(good), OnnxSide(bad), inputs, **tolerance)
    assert found.first is not None and found.first.module == where, found.to_text(True)
    # PyTorch against the file that was exported wrongly.
    side = TorchSide("model", model, (torch.from_numpy(inputs["x"]),), {})
    found = compare(side, OnnxSide(bad), inputs, **tolerance)
    assert found.first is not None and found.first.module == where, found.to_text(True)


@pytest.mark.parametrize("dynamo", [False, True])
def test_equal_models_are_equal(tmp_path: Path, dynamo: bool) -> None:
    model, inputs = make()
    path = export(model, inputs, tmp_path / "model.onnx", dynamo)
    side = TorchSide("model", model, (torch.from_numpy(inputs["x"]),), {})
    found = compare(side, OnnxSide(path), inputs, rtol=1e-4, atol=1e-6)
    assert found.equal, found.to_text(True)
    assert len(found.rows) > 20


def test_memory_is_bounded_by_batches(tmp_path: Path) -> None:
    model, inputs = make()
    path = export(model, inputs, tmp_path / "model.onnx")
    whole = compare(OnnxSide(path), OnnxSide(path), inputs)
    small = compare(OnnxSide(path), OnnxSide(path), inputs, batch=2)
    assert [row.module for row in whole.rows] == [row.module for row in small.rows]
    assert small.equal


def test_nan_is_told_by_module(tmp_path: Path) -> None:
    model, inputs = make()
    good = export(model, inputs, tmp_path / "good.onnx")
    wrong = onnx.load(good)
    for tensor in wrong.graph.initializer:
        if tensor.name == "blocks.1.up.bias":
            tensor.CopyFrom(numpy_helper.from_array(np.full(tensor.dims, np.inf, np.float32), tensor.name))
    bad = str(tmp_path / "bad.onnx")
    onnx.save(wrong, bad)
    found = compare(OnnxSide(good), OnnxSide(bad), inputs)
    assert found.first_not_finite is not None and found.first_not_finite.module == "blocks.1.up"


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e37])
def test_a_version_that_overflows_is_out_of_tolerance(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                                      value: float) -> None:
    model, inputs = make()
    good = export(model, inputs, tmp_path / "good.onnx")
    wrong = onnx.load(good)
    for tensor in wrong.graph.initializer:
        if tensor.name == "blocks.1.up.bias":
            tensor.CopyFrom(numpy_helper.from_array(np.full(tensor.dims, value, np.float32), tensor.name))
    bad = str(tmp_path / "bad.onnx")
    onnx.save(wrong, bad)
    arrays = str(tmp_path / "x.npz")
    np.savez(arrays, **inputs)
    assert main(["compare", good, bad, "--inputs", arrays]) == 1
    assert "first out of tolerance: blocks.1.up (Linear)" in capsys.readouterr().out
    assert main(["compare", bad, good, "--inputs", arrays, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["first"] == "blocks.1.up"


def test_wrong_input_files_and_numbers_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs = make()
    path = export(model, inputs, tmp_path / "model.onnx")
    arrays = tmp_path / "x.npz"
    np.savez(arrays, **inputs)
    whole = arrays.read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:100])
    (tmp_path / "bits.npz").write_bytes(bytes(byte ^ 0x55 for byte in whole))
    np.save(tmp_path / "x.npy", inputs["x"])
    np.savez(tmp_path / "objects.npz", x=np.array([{"a": 1}], dtype=object))
    np.savez(tmp_path / "shape.npz", x=np.zeros((7, 7, 7), np.float32))
    (tmp_path / "short.npz").write_bytes(whole.replace(b"(1, 5, 8)", b"(9, 5, 8)"))
    for name in ("cut.npz", "bits.npz", "x.npy", "objects.npz", "shape.npz", "short.npz", "missing.npz"):
        assert main(["compare", path, path, "--inputs", str(tmp_path / name)]) == 3, name
        said = capsys.readouterr()
        assert said.out == "" and said.err.startswith("onnx_tag: ") and "Traceback" not in said.err, name
    for option in ("--batch=0", "--batch=-1", "--batch=x", "--rtol=nan", "--atol=-1"):
        with pytest.raises(SystemExit) as ended:
            main(["compare", path, path, "--inputs", str(arrays), option])
        assert ended.value.code == 2
        assert "is not a " in capsys.readouterr().err


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs = make()
    good = export(model, inputs, tmp_path / "good.onnx")
    wrong = copy.deepcopy(model)
    epsilon("blocks.1.norm1")(wrong)
    bad = export(wrong, inputs, tmp_path / "bad.onnx")
    arrays = str(tmp_path / "x.npz")
    np.savez(arrays, **inputs)
    assert main(["compare", good, bad, "--inputs", arrays]) == 1
    assert "first out of tolerance: blocks.1.norm1 (LayerNorm)" in capsys.readouterr().out
    assert main(["compare", good, good, "--inputs", arrays, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["equal"] and said["first"] is None
    schema = json.loads((ROOT / "docs/compare.schema.json").read_text())
    jsonschema.validate(said, schema)
    assert main(["compare", good, bad, "--inputs", arrays, "--json"]) == 1
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)
    assert main(["compare", good, bad]) == 2
    assert "--inputs" in capsys.readouterr().err
    table = tmp_path / "errors.tsv"
    assert main(["compare", good, bad, "--inputs", arrays, "--tsv", str(table)]) == 1
    assert table.read_text().startswith("value\trelative_error\n")
    command = [program.find(), "profile", bad, str(table), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["measure"] == "relative_error"


def test_missing_inputs_are_said(tmp_path: Path) -> None:
    model, inputs = make()
    path = export(model, inputs, tmp_path / "model.onnx")
    with pytest.raises(comparing.CompareError, match="needs the input 'x'"):
        compare(OnnxSide(path), OnnxSide(path), {"y": inputs["x"]})
