"""compare: planted faults are found where they are, and equal models are equal."""
from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import jsonschema
import numpy as np
import onnx
import pytest
import torch
from onnx import numpy_helper
from torch import nn

from onnx_tag import program
from onnx_tag.__main__ import main
from onnx_tag.compare import FLOAT, Comparison, OnnxSide, Row, Tolerance, compare, live, same_order
from onnx_tag.errors import InputError
from onnx_tag.measures import Errors
from onnx_tag.reference import record_reference
from onnx_tag.tags import SourceLine

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
    tolerance = Tolerance(rtol=1e-4, atol=1e-6)
    found = compare(OnnxSide(good), OnnxSide(bad), inputs, tolerance=tolerance)
    assert found.first is not None and found.first.module == where, found.to_text(True)
    # PyTorch against the file that was exported wrongly.
    with live(model, torch.from_numpy(inputs["x"])) as side:
        found = compare(side, OnnxSide(bad), inputs, tolerance=tolerance)
    assert found.first is not None and found.first.module == where, found.to_text(True)
    # Of two modules that were swapped, either may add more.
    assert found.worst[0].module in (where, where.replace("query", "key"))


@pytest.mark.parametrize("dynamo", [False, True])
def test_equal_models_are_equal(tmp_path: Path, dynamo: bool) -> None:
    model, inputs = make()
    path = export(model, inputs, tmp_path / "model.onnx", dynamo)
    with live(model, torch.from_numpy(inputs["x"])) as side:
        found = compare(side, OnnxSide(path), inputs, tolerance=Tolerance(rtol=1e-4, atol=1e-6))
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


@pytest.mark.parametrize("empty", [True, False])
def test_nothing_compared_is_no_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str], empty: bool) -> None:
    node = onnx.helper.make_node
    for name, sign in (("a", 1.0), ("b", -1.0)):
        weights = [onnx.helper.make_tensor(f"{module}.weight", 1, [4, 4], [sign] * 16) for module in ("one", "two")]
        graph = onnx.helper.make_graph(
            [node("MatMul", ["x", "one.weight"], ["h"], name="/one/MatMul"),
             node("MatMul", ["h", "two.weight"], ["y"], name="/two/MatMul")], "g",
            [onnx.helper.make_tensor_value_info("x", 1, ["n", 4])],
            [onnx.helper.make_tensor_value_info("y", 1, ["n", 4])], weights)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
        model.ir_version = 8
        onnx.save(model, tmp_path / f"{name}.onnx")
    np.savez(tmp_path / "x.npz", x=np.full((0 if empty else 3, 4), np.nan, np.float32))
    assert main(["compare", *(str(tmp_path / name) for name in ("a.onnx", "b.onnx")), "--inputs",
                 str(tmp_path / "x.npz")]) == 2
    said = capsys.readouterr().err
    assert "nothing was compared" in said and ("they are empty" if empty else "one has NaN or Inf in both") in said


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
    np.savez(tmp_path / "words.npz", x=np.array(["a", "b"]))
    (tmp_path / "short.npz").write_bytes(whole.replace(b"(1, 5, 8)", b"(9, 5, 8)"))
    for name in ("cut.npz", "bits.npz", "x.npy", "objects.npz", "shape.npz", "short.npz", "words.npz",
                 "missing.npz"):
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
    schema = json.loads((ROOT / "docs/reference/schemas/compare.schema.json").read_text())
    jsonschema.validate(said, schema)
    assert main(["compare", good, bad, "--inputs", arrays, "--json"]) == 1
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)
    assert main(["compare", good, bad]) == 2
    assert "--inputs" in capsys.readouterr().err
    # Every condition is a gate of its own.
    for gate, code in ((["--min-sqnr", "200"], 1), (["--min-sqnr", "-200"], 0), (["--min-cosine", "0.1"], 0),
                       (["--rtol", "100"], 0), (["--rtol", "100", "--min-sqnr", "200"], 1)):
        assert main(["compare", good, bad, "--inputs", arrays, *gate]) == code, gate
    capsys.readouterr()
    assert main(["compare", good, bad, "--inputs", arrays, "--all", "--sort", "order", "--color", "always"]) == 1
    said_text = capsys.readouterr().out
    assert "\033[31m" in said_text and said_text.index(" blocks.0.up ") < said_text.index(" blocks.1.up ")
    table = tmp_path / "errors.tsv"
    assert main(["compare", good, bad, "--inputs", arrays, "--tsv", str(table)]) == 1
    assert table.read_text().startswith("value\trelative_error\tnoise_to_signal\tlost_db\tcode\n")
    command = [program.find(), "profile", bad, str(table), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["measure"] == "relative_error"


@pytest.mark.parametrize("dynamo", [False, True])
def test_the_line_of_code_is_said(tmp_path: Path, dynamo: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """From the file if it has tracebacks (dynamo), else from the run of the PyTorch model."""
    model, inputs = make()
    reference = str(tmp_path / "run.ref")
    record_reference(model, torch.from_numpy(inputs["x"]), reference)
    wrong = copy.deepcopy(model)
    epsilon("blocks.1.norm1")(wrong)
    bad = export(wrong, inputs, tmp_path / "bad.onnx", dynamo)
    assert main(["compare", reference, bad, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    jsonschema.validate(said, json.loads((ROOT / "docs/reference/schemas/compare.schema.json").read_text()))
    lines = {row["module"]: row["source_line"] for row in said["modules"]}
    for module, code in (("blocks.1.norm1", "x = x + self.attention(self.norm1(x))"),
                         ("blocks.0.up", "return x + self.down(self.act(self.up(self.norm2(x))))"),
                         ("stem", "x = self.stem(x)")):
        assert lines[module]["text"] == code and lines[module]["file"].endswith("test_compare.py")
        assert Path(__file__).read_text().splitlines()[lines[module]["line"] - 1].strip() == code
    number = lines["blocks.1.norm1"]["line"]
    assert main(["compare", reference, bad, "--tsv", str(tmp_path / "errors.tsv")]) == 1
    text = capsys.readouterr().out
    assert f"first out of tolerance: blocks.1.norm1 (LayerNorm)\n  code  test_compare.py:{number}, in forward\n" in text
    assert f"blocks.1.norm1 (LayerNorm)  test_compare.py:{number}\n" in text
    assert f"\ttest_compare.py:{number}\n" in (tmp_path / "errors.tsv").read_text()


def test_names_and_code_of_others_are_harmless_on_a_terminal() -> None:
    errors = Errors()
    errors.add(np.ones(3), np.zeros(3))
    line = SourceLine("a\x1b]8;;x.py", 3, "f\x07", "\x1b[2J\u202eevil")
    row = Row("bad\x1b[31m\udcff\n", "Cl\x9bass", errors, [(0, errors)], folded=["x\r"], line=line, within=False)
    found = Comparison("a\x1b", "b", [row], ["\x1b[1m"], [], [], [], [], [], FLOAT, Tolerance(1, 1), 1, 1,
                       [row])
    text = found.to_text()
    text.encode("utf-8")
    assert all(c.isprintable() for line in text.splitlines() for c in line)
    assert "bad\\x1b[31m\\xff\\x0a (Cl\\xc2\\x9bass)" in text and "\\x1b[2J\\xe2\\x80\\xaeevil" in text


def test_missing_inputs_are_said(tmp_path: Path) -> None:
    model, inputs = make()
    path = export(model, inputs, tmp_path / "model.onnx")
    with pytest.raises(InputError, match="needs the input 'x'"):
        compare(OnnxSide(path), OnnxSide(path), {"y": inputs["x"]})


@pytest.mark.parametrize("a,b,same", [
    ((2, 3, 4), (2, 3, 4), True), ((2, 3, 4), (6, 4), True), ((6, 4), (2, 3, 4), True), ((2, 3, 4), (24,), True),
    ((1, 2, 1, 3), (2, 3), True), ((2, 3), (3, 2), False), ((2, 3, 4), (2, 4, 3), False), ((2, 3, 4), (3, 8), False),
    ((), (1,), True), ((0, 2), (0,), True), ((4,), (5,), False)])
def test_merged_dimensions_are_the_same_values(a: Tuple[int, ...], b: Tuple[int, ...], same: bool) -> None:
    assert same_order(a, b) == same


# ------------------------------------------------------------ quantized files, made by hand
def quantized_file(path: Path, body: List[Any], weights: Dict[str, np.ndarray], output: str = "y") -> str:
    from onnx import TensorProto, helper
    graph = helper.make_graph(
        body, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_empty_tensor_value_info(output)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]), path)
    return str(path)


def linear(name: str, source: str, result: str, form: str) -> List[Any]:
    """A layer `name` on 8 bits, with the names that ONNX Runtime's quantizer gives."""
    from onnx import helper
    at = f"/{name}/"

    def node(op: str, inputs: List[str], outputs: List[str], **options: Any) -> Any:
        return helper.make_node(op, inputs, outputs, at + op + "_" + outputs[0], **options)
    if form == "dynamic":
        return [node("DynamicQuantizeLinear", [source], [f"{source}_q", f"{source}_s", f"{source}_z"]),
                node("MatMulInteger", [f"{source}_q", f"{name}.weight_q", f"{source}_z", "zero_i8"], [f"{name}_i"]),
                node("Cast", [f"{name}_i"], [f"{name}_f"], to=1), node("Mul", [f"{source}_s", "w_s"], [f"{name}_ws"]),
                node("Mul", [f"{name}_f", f"{name}_ws"], [f"{name}_p"]),
                node("Add", [f"{name}_p", f"{name}.bias"], [result])]
    if form == "qdq":
        return [node("QuantizeLinear", [source, "s", "z"], [f"{source}_q"]),
                node("DequantizeLinear", [f"{source}_q", "s", "z"], [f"{source}_d"]),
                node("DequantizeLinear", [f"{name}.weight_q", "w_s", "zero_i8"], [f"{name}.weight_d"]),
                node("MatMul", [f"{source}_d", f"{name}.weight_d"], [f"{name}_p"]),
                node("Add", [f"{name}_p", f"{name}.bias"], [result])]
    quantizing = [] if source.endswith("_Q") else [node("QuantizeLinear", [source, "s", "z"], [f"{source}_Q"])]
    source = source if source.endswith("_Q") else f"{source}_Q"
    return [*quantizing, node("QLinearMatMul", [source, "s", "z", f"{name}.weight_q", "w_s", "zero_i8", "s", "z"],
                              [result])]


class TwoLayers(nn.Module):
    def __init__(self, weights: List[np.ndarray], bias: np.ndarray) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        with torch.no_grad():
            for layer, weight in zip((self.first, self.second), weights):
                layer.weight.copy_(torch.from_numpy(weight.T))
                layer.bias.copy_(torch.from_numpy(bias))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


@pytest.mark.parametrize("form", ["dynamic", "qdq", "qlinear"])
def test_integers_are_compared_as_real_numbers(tmp_path: Path, form: str) -> None:
    from onnx import helper
    random = np.random.default_rng(3)
    integers = [random.integers(-127, 128, (4, 4)).astype(np.int8) for _ in range(2)]
    weight_scale, scale = np.float32(1 / 127), np.float32(6 / 127)
    bias = np.zeros(4, np.float32) if form == "qlinear" else random.standard_normal(4).astype(np.float32)
    middle = "h_Q" if form == "qlinear" else "h"
    body = [*linear("first", "x", middle, form), *linear("second", middle, "y_Q" if form == "qlinear" else "y", form)]
    if form == "qlinear":
        body.append(helper.make_node("DequantizeLinear", ["y_Q", "s", "z"], ["y"], "out"))
    weights = {"first.weight_q": integers[0], "second.weight_q": integers[1], "first.bias": bias, "second.bias": bias,
               "w_s": np.array(weight_scale), "s": np.array(scale), "z": np.array(0, np.int8),
               "zero_i8": np.array(0, np.int8)}
    path = quantized_file(tmp_path / "model.onnx", body, weights)
    model = TwoLayers([weight.astype(np.float32) * weight_scale for weight in integers], bias)
    x = random.uniform(-2, 2, (2, 4)).astype(np.float32)
    with live(model, torch.from_numpy(x)) as side:
        found = compare(side, OnnxSide(path), {"x": x})
    assert found.precision.name == "8 bits" and found.equal, found.to_text(True)
    rows = {row.module: row for row in found.rows}
    assert rows.keys() >= {"first", "second"} and all(row.errors.sqnr > 20 for row in rows.values())
    # A damaged weight is found in integers, too.
    weights["second.weight_q"] = weights["second.weight_q"][:, ::-1].copy()
    wrong = quantized_file(tmp_path / "wrong.onnx", body, weights)
    with live(model, torch.from_numpy(x)) as side:
        found = compare(side, OnnxSide(wrong), {"x": x})
    assert found.first is not None and found.first.module == "second", found.to_text(True)


def exported(tmp_path: Path) -> Tuple[Path, Path]:
    """A model, and its inputs as a file."""
    model, inputs = make()
    path = tmp_path / "model.onnx"
    torch.onnx.export(model, (torch.from_numpy(inputs["x"]),), str(path), input_names=["x"], dynamo=False)
    np.savez(tmp_path / "x.npz", **inputs)
    return path, tmp_path / "x.npz"


@pytest.mark.parametrize("form", ["npz", "npy", "raw", "polygraphy"])
def test_values_of_another_engine_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    import base64
    import io

    import onnxruntime as ort
    model, inputs = exported(tmp_path)
    tapped = tmp_path / "tapped.onnx"
    program.run(["tap", str(model), "--module", "**", "-o", str(tapped)])
    session = ort.InferenceSession(str(tapped))
    values = dict(zip([value.name for value in session.get_outputs()], session.run(None, dict(np.load(inputs)))))
    values["blocks.1.up"] = values["blocks.1.up"] + np.float32(0.01)    # what the other engine does worse
    where = tmp_path / ("values.npz" if form == "npz" else "values.json" if form == "polygraphy" else "values")
    if form == "npz":
        np.savez(where, **values)
    elif form == "polygraphy":
        def text(array: np.ndarray) -> str:
            file = io.BytesIO()
            np.save(file, array)
            return base64.b64encode(file.getvalue()).decode()
        outputs = {name: {"values": {"array": text(array)}} for name, array in values.items()}
        where.write_text(json.dumps({"lst": [["engine", [{"outputs": outputs}]]]}))
    else:
        where.mkdir()
        for name, array in values.items():
            file = where / (name.replace(".", "_").replace(":", "_"))
            if form == "npy":
                np.save(file.with_suffix(".npy"), array)
            else:
                file.with_suffix(".raw").write_bytes(array.tobytes())
    words = ["compare", str(model), str(where), "--inputs", str(inputs)]
    assert main([*words, "--model", str(tapped), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [row["module"] for row in told["modules"] if not row["within"]] == ["blocks.1.up"]
    largest = {row["module"]: row["largest_b"] for row in told["modules"]}
    assert largest["blocks.1.up"] == pytest.approx(float(np.abs(values["blocks.1.up"]).max()))
    assert main(words) == 2 and "--model TAPPED" in capsys.readouterr().err
    np.savez(tmp_path / "other.npz", nobody=values["blocks.1.up"])
    words[2] = str(tmp_path / "other.npz")
    assert main([*words, "--model", str(tapped)]) == 3 and "none of the" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["pipe", "device", "no array", "3 bytes", "dead link", "damaged link"])
def test_a_folder_of_odd_values_is_blamed_by_name(
        tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    model, inputs = exported(tmp_path)
    tapped = tmp_path / "tapped.onnx"
    program.run(["tap", str(model), "--module", "head", "-o", str(tapped)])
    folder = tmp_path / "values"
    folder.mkdir()
    file = folder / ("head.npy" if what in ("no array", "damaged link") else "head.raw")
    if what == "pipe":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    elif what == "dead link":
        file.symlink_to(tmp_path / "nowhere")
    elif what == "damaged link":
        (tmp_path / "text").write_text("no array")
        file.symlink_to(tmp_path / "text")
    else:
        file.write_text("no array" if what == "no array" else "abc")
    assert main(["compare", str(model), str(folder), "--model", str(tapped), "--inputs", str(inputs)]) == 3
    assert f"{file}: " in capsys.readouterr().err
    if what == "pipe":                                      # also where one file is expected
        os.mkfifo(tmp_path / "pipe.npz")
        assert main(["compare", str(model), str(model), "--inputs", str(tmp_path / "pipe.npz")]) == 3


def test_the_module_whose_own_code_adds_most_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not the projection behind it, whose value is the next that A and B have in common."""
    model, inputs = exported(tmp_path)
    loaded = onnx.load(model)
    softmax = next(node for node in loaded.graph.node if node.name.startswith("/blocks.1/attention/Softmax"))
    product = next(node for node in loaded.graph.node if softmax.output[0] in node.input)
    # Code of the attention between its projections: a product loses its fractions.
    exact, product.output[0] = product.output[0], product.output[0] + "_exact"
    rounded = onnx.helper.make_node("Round", [product.output[0]], [exact], "/blocks.1/attention/Round")
    loaded.graph.node.insert(list(loaded.graph.node).index(product) + 1, rounded)
    onnx.save(loaded, tmp_path / "b.onnx")
    words = ["compare", str(model), str(tmp_path / "b.onnx"), "--inputs", str(inputs), "--json"]
    for tolerance in ([], ["--rtol", "10"]):                # also where nothing is out of tolerance
        assert main([*words, *tolerance]) == (0 if tolerance else 1)
        assert json.loads(capsys.readouterr().out)["worst"][0] == "blocks.1.attention"


def test_without_findings_the_worst_rows_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs = exported(tmp_path)
    assert main(["compare", str(model), str(model), "--inputs", str(inputs)]) == 0
    said = capsys.readouterr().out
    assert "SQNR dB" in said and "list them with --all" in said
    assert "errors: tenths of the values, by relative error: up to 1e-06," in said


def test_what_overflows_is_selected_with_its_readers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, inputs = exported(tmp_path)
    loaded = onnx.load(model)
    rows = json.loads(program.run(["weights", str(model), "--json"]).out)["weights"]
    names = {row["parameters"][0]: row["initializer"] for row in rows if row["parameters"]}
    factors = {"blocks.1.up.weight": 1e5, "blocks.1.up.bias": 1e5, "blocks.1.down.weight": 1e-5}
    for tensor in loaded.graph.initializer:
        for name, factor in factors.items():
            if tensor.name == names[name]:
                scaled = numpy_helper.to_array(tensor) * np.float32(factor)
                tensor.CopyFrom(numpy_helper.from_array(scaled, tensor.name))
    onnx.save(loaded, model)
    # Everything in half precision but the numbers themselves: a Cast there and back behind each product.
    low = onnx.ModelProto.FromString(loaded.SerializeToString())
    nodes = []
    for node in low.graph.node:
        nodes.append(node)
        if node.op_type == "MatMul":
            made = node.output[0]
            node.output[0] = made + "_exact"
            nodes.append(onnx.helper.make_node("Cast", [made + "_exact"], [made + "_half"], name=made + "_1", to=10))
            nodes.append(onnx.helper.make_node("Cast", [made + "_half"], [made], name=made + "_2", to=1))
    del low.graph.node[:]
    low.graph.node.extend(nodes)
    onnx.save(low, tmp_path / "low.onnx")
    words = ["compare", str(model), str(tmp_path / "low.onnx"), "--inputs", str(inputs), "--select", "worst:1"]
    assert main([*words, "--for", "fp16"]) == 0
    kept = set(json.loads(capsys.readouterr().out)["node_block_list"])
    want = {node.name for node in loaded.graph.node
            if node.name.startswith(("/blocks.1/up/", "/blocks.1/act/", "/blocks.1/down/"))}
    assert kept == want
    assert main(words) == 2 and "go together" in capsys.readouterr().err


def test_an_error_that_the_outputs_do_not_see_adds_nothing(tmp_path: Path) -> None:
    """b is wrong by 30 %, but the head weighs it with 0.001; a is wrong by 1 %."""
    chance = np.random.default_rng(0)
    weights = {name: chance.normal(0, 0.2, (16, 16)).astype(np.float32) for name in ("a", "b")}
    head = np.concatenate([chance.normal(0, 0.2, (4, 16)), chance.normal(0, 0.0002, (4, 16))], 1).astype(np.float32)

    def save(name: str, factors: Dict[str, float]) -> OnnxSide:
        node = onnx.helper.make_node
        nodes = [node("Gemm", ["x", f"{part}.weight"], [f"/{part}/Gemm_output_0"], f"/{part}/Gemm", transB=1)
                 for part in weights]
        nodes.append(node("Concat", ["/a/Gemm_output_0", "/b/Gemm_output_0"], ["/c"], "/Concat", axis=1))
        nodes.append(node("Gemm", ["/c", "head.weight"], ["y"], "/head/Gemm", transB=1))
        tensors = [numpy_helper.from_array(weight * np.float32(factors.get(part, 1)), f"{part}.weight")
                   for part, weight in {**weights, "head": head}.items()]
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(nodes, "main", [info("x", 1, [8, 16])], [info("y", 1, [8, 4])], tensors)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], producer_name="pytorch")
        model.ir_version = 8
        onnx.save(model, tmp_path / name)
        return OnnxSide(str(tmp_path / name))
    inputs = {"x": chance.normal(0, 1, (8, 16)).astype(np.float32)}
    found = compare(save("good.onnx", {}), save("bad.onnx", {"a": 1.01, "b": 1.3}), inputs)
    assert max(found.rows, key=lambda row: row.lost).module == "b"
    assert [row.module for row in found.worst] == ["a", "b"]


def with_outliers(path: Path, outlier: int, blocks: int = 5, width: int = 32) -> Any:
    """Residual blocks with names of the TorchScript exporter; in one, channels have another scale (the same result)."""
    chance = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    for block in range(blocks):
        up = chance.normal(0, width ** -0.5, (4 * width, width)).astype(np.float32)
        down = chance.normal(0, (16 * width) ** -0.5, (width, 4 * width)).astype(np.float32)
        if block == outlier:
            up[:4] *= 200
            down[:, :4] /= 200
        made = {step: f"/blocks.{block}/{step}_output_0" for step in ("up/Gemm", "act/Relu", "down/Gemm", "Add")}
        for layer, weight, read in (("up", up, x), ("down", down, made["act/Relu"])):
            name = f"blocks.{block}.{layer}.weight"
            weights.append(numpy_helper.from_array(weight, name))
            nodes.append(onnx.helper.make_node("Gemm", [read, name], [made[f"{layer}/Gemm"]], transB=1,
                                               name=f"/blocks.{block}/{layer}/Gemm"))
        nodes.insert(-1, onnx.helper.make_node("Relu", [made["up/Gemm"]], [made["act/Relu"]],
                                               name=f"/blocks.{block}/act/Relu"))
        nodes.append(onnx.helper.make_node("Add", [x, made["down/Gemm"]], [made["Add"]], name=f"/blocks.{block}/Add"))
        x = made["Add"]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "main", [info("x", 1, ["n", width])], [info(x, 1, ["n", width])], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], producer_name="pytorch")
    model.ir_version = 8
    onnx.save(model, path)
    return chance


def test_what_static_quantization_spoils_is_found_and_left_out(tmp_path: Path,
                                                               capsys: pytest.CaptureFixture[str]) -> None:
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    path, low = str(tmp_path / "net.onnx"), str(tmp_path / "low.onnx")
    chance = with_outliers(tmp_path / "net.onnx", outlier=3)
    rows = [chance.normal(0, 1, (64, 32)).astype(np.float32) for _ in range(4)]
    np.savez(tmp_path / "x.npz", x=rows[0])

    class Rows(CalibrationDataReader):                      # type: ignore[misc]
        def __init__(self) -> None:
            self.left = iter(rows)

        def get_next(self) -> Any:
            x = next(self.left, None)
            return None if x is None else {"x": x}

    def run(model: str) -> np.ndarray:
        session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, {"x": rows[0]})[0])
    quantize_static(path, low, Rows(), quant_format=QuantFormat.QDQ)
    words = ["compare", path, low, "--inputs", str(tmp_path / "x.npz")]
    assert main([*words, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    # A quantizer stands for the Relu: its module is as good as what it reads.
    worst = {row["module"]: row["sqnr_db"] for row in told["modules"]}
    assert worst["blocks.0.act"] > 25
    # The outliers leave few bits to the weights of the one and to the inputs of the other.
    assert told["worst"][0] in ("blocks.3.up", "blocks.3.down")
    assert main([*words, "--select", "worst:2", "--for", "ort-quant"]) == 0
    left_out = json.loads(capsys.readouterr().out)["nodes_to_exclude"]
    nodes = {f"/blocks.3/{part}" for part in ("up/Gemm", "act/Relu", "down/Gemm")}
    assert nodes <= set(left_out)
    assert {name.removesuffix("_MatMul").removesuffix("_Add") for name in left_out} <= nodes | {"/blocks.2/Add"}
    mixed = str(tmp_path / "mixed.onnx")
    quantize_static(path, mixed, Rows(), quant_format=QuantFormat.QDQ, nodes_to_exclude=left_out)
    exact = run(path)
    assert 5 * np.abs(run(mixed) - exact).mean() < np.abs(run(low) - exact).mean()


def test_hostile_words_inputs_and_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.onnx"
    with_outliers(model, outlier=0, blocks=1)
    inputs = tmp_path / "x.npz"
    np.savez(inputs, x=np.ones((2, 32), np.complex64))
    words = ["compare", str(model), str(model), "--inputs", str(inputs)]
    assert main(words) == 3 and "takes numbers" in capsys.readouterr().err
    np.savez(inputs, x=np.ones((2, 32), np.float32))
    assert main([*words, "--tag-options", "'"]) == 2 and "--tag-options" in capsys.readouterr().err
    before = model.read_bytes()
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        ran = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "onnx_tag", *words],
                             capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        assert (ran.returncode, ran.stderr) == (0, ""), closed
    assert model.read_bytes() == before
