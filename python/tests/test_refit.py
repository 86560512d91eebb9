"""Refit: what is proved is written, what may depend on a changed parameter is refused, the rest is kept."""
from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

from onnx_tag import RefitError, TagsError, refit  # noqa: E402
from onnx_tag.__main__ import main  # noqa: E402

Arrays = Dict[str, Any]


def numbers(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def save(path: Path, arrays: Arrays) -> str:
    head, data = {}, b""
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        head[name] = {"dtype": {"f": "F32", "e": "F16", "l": "I64", "q": "I64"}[array.dtype.char],
                      "shape": list(array.shape),
                      "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


def model(path: Path, tensors: Arrays, nodes: List[Any], outside: Optional[str] = None) -> str:
    value = helper.make_tensor_value_info
    made = [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in tensors.items()]
    graph = helper.make_graph(nodes, "g", [value("x", 1, None)], [value(nodes[-1].output[0], 1, None)], made)
    document = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    if outside:
        onnx.save(document, path, save_as_external_data=True, location=outside, size_threshold=0)
    else:
        onnx.save(document, path)
    return str(path)


def linear(module: str, x: str, y: str, weight: str) -> Any:
    return helper.make_node("MatMul", [x, weight], [y], name=f"/{module}/MatMul")


def written(path: Any) -> Arrays:
    return {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}


@pytest.fixture
def case(tmp_path: Path, binary: str) -> Dict[str, Any]:
    """Two Linears, the second without a name in the file, and constants that no parameter gives."""
    old = {"a.weight": numbers(1, 6, 4), "b.weight": numbers(2, 5, 6)}
    new = {"a.weight": numbers(3, 6, 4), "b.weight": numbers(4, 5, 6)}
    tensors = {"onnx::MatMul_1": old["a.weight"].T, "onnx::MatMul_2": old["b.weight"].T, "anchors": numbers(9, 7, 3),
               "ones": np.ones(6, np.float32)}
    nodes = [linear("a", "x", "h", "onnx::MatMul_1"), helper.make_node("Mul", ["h", "ones"], ["n"], name="/norm/Mul"),
             linear("b", "n", "y", "onnx::MatMul_2"), helper.make_node("Identity", ["anchors"], ["z"],
                 name="/Identity"),
             helper.make_node("Relu", ["y"], ["r"], name="/Relu")]
    return {"old": old, "new": new, "tensors": tensors, "nodes": nodes, "model": model(tmp_path / "m.onnx", tensors,
        nodes),
            "was": save(tmp_path / "old.safetensors", old), "now": save(tmp_path / "new.safetensors", new)}


def test_proved_tensors_are_written_and_constants_stay(case: Dict[str, Any], tmp_path: Path) -> None:
    rows = {row["tensor"]: row for row in refit(case["model"], case["now"], case["was"], tmp_path / "o.onnx")}
    assert {name: row["fate"] for name, row in rows.items()} == {
        "onnx::MatMul_1": "written", "onnx::MatMul_2": "written", "anchors": "kept", "ones": "kept"}
    assert rows["anchors"]["why"] == "no parameter gives its numbers"
    made = written(tmp_path / "o.onnx")
    np.testing.assert_array_equal(made["onnx::MatMul_1"], case["new"]["a.weight"].T)
    np.testing.assert_array_equal(made["anchors"], case["tensors"]["anchors"])
    before, after = (Path(one).read_bytes() for one in (case["model"], tmp_path / "o.onnx"))
    assert len(before) == len(after)                        # only the numbers are other ones


def test_an_unknown_fold_is_refused(case: Dict[str, Any], tmp_path: Path) -> None:
    for fold in (np.exp, lambda w: w * np.linspace(1, 2, w.shape[0], dtype=np.float32)[:, None], lambda w: w / 3 + 1):
        path = model(tmp_path / "f.onnx", {**case["tensors"], "onnx::MatMul_2": fold(case["old"]["b.weight"]).T},
                     case["nodes"])
        with pytest.raises(RefitError, match="refused") as error:
            refit(path, case["now"], case["was"], tmp_path / "f.out.onnx")
        assert [row["tensor"] for row in error.value.rows if row["fate"] == "refused"] == ["onnx::MatMul_2"]
        assert not (tmp_path / "f.out.onnx").exists()


def test_a_parameter_that_no_tensor_holds(case: Dict[str, Any], tmp_path: Path) -> None:
    """It is refused where a tensor of unknown numbers may hold it; else the model does not have it."""
    for shape, fits in (((40, 41), False), ((7, 41), True)):
        was, now = (save(tmp_path / f"{name}.safetensors", {**case[name], "head": numbers(seed, *shape)})
                    for name, seed in (("old", 5), ("new", 6)))
        if not fits:
            refit(case["model"], now, was, tmp_path / "h.onnx")
            continue
        with pytest.raises(RefitError):
            refit(case["model"], now, was, tmp_path / "h2.onnx")
        refit(case["model"], now, was, tmp_path / "h2.onnx", keep=["head", "anchors"])


def test_names_of_old_that_are_swapped_are_refused(case: Dict[str, Any], tmp_path: Path) -> None:
    old = {"a.weight": numbers(1, 6, 6), "b.weight": numbers(2, 6, 6)}
    path = model(tmp_path / "s.onnx", {"onnx::MatMul_1": old["a.weight"].T, "onnx::MatMul_2": old["b.weight"].T,
                                       "ones": np.ones(6, np.float32), "anchors": numbers(9, 7, 3)}, case["nodes"])
    was = save(tmp_path / "w.safetensors", {"a.weight": old["b.weight"], "b.weight": old["a.weight"]})
    now = save(tmp_path / "n.safetensors", {"a.weight": numbers(3, 6, 6), "b.weight": numbers(4, 6, 6)})
    with pytest.raises(RefitError) as error:
        refit(path, now, was, tmp_path / "s.out.onnx")
    assert "in the place of" in next(row["why"] for row in error.value.rows if row["fate"] == "refused")


def test_external_weights_get_a_file_of_their_own(case: Dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "e").mkdir()
    path = model(tmp_path / "e" / "m.onnx", case["tensors"], case["nodes"], "m.data")
    before = (tmp_path / "e" / "m.data").read_bytes()
    for _ in range(2):                                      # the second run finds its own output
        refit(path, case["now"], case["was"], tmp_path / "e" / "o.onnx", force=True)
    assert sorted(one.name for one in (tmp_path / "e").iterdir()) == ["m.data", "m.onnx", "o.onnx", "o.onnx.data"]
    assert (tmp_path / "e" / "m.data").read_bytes() == before
    np.testing.assert_array_equal(written(tmp_path / "e" / "o.onnx")["onnx::MatMul_2"], case["new"]["b.weight"].T)
    refit(path, case["was"], case["was"], tmp_path / "e" / "o.onnx", force=True)
    assert sorted(one.name for one in (tmp_path / "e").iterdir()) == ["m.data", "m.onnx", "o.onnx", "o.onnx.1.data"]


@pytest.mark.parametrize("kind, per_channel", [("QInt8", False), ("QUInt8", False), ("QInt8", True)])
def test_quantized_weights_are_quantized_again(case: Dict[str, Any], tmp_path: Path, kind: str,
                                               per_channel: bool) -> None:
    quantization = pytest.importorskip("onnxruntime.quantization")
    made = []
    for name, state in (("q1", case["old"]), ("q2", case["new"])):
        tensors = {**case["tensors"], "onnx::MatMul_1": state["a.weight"].T, "onnx::MatMul_2": state["b.weight"].T}
        made.append(str(tmp_path / f"{name}.onnx"))
        quantization.quantize_dynamic(model(tmp_path / "p.onnx", tensors, case["nodes"]), made[-1],
                                      per_channel=per_channel,
                                      weight_type=getattr(quantization.QuantType, kind))
    refit(made[0], case["now"], case["was"], tmp_path / "o.onnx")
    want = written(made[1])
    assert all(np.array_equal(array, want[name]) for name, array in written(tmp_path / "o.onnx").items())


def test_torch_checkpoints_and_an_index(case: Dict[str, Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"state_dict": {name: torch.from_numpy(array) for name, array in case["old"].items()}},
               tmp_path / "old.pt")
    for name, array in case["new"].items():
        save(tmp_path / f"{name}.safetensors", {name: array})
    (tmp_path / "new.json").write_text(json.dumps({"weight_map": {name: f"{name}.safetensors"
                                                                  for name in case["new"]}}))
    refit(case["model"], tmp_path / "new.json", tmp_path / "old.pt", tmp_path / "o.onnx")
    np.testing.assert_array_equal(written(tmp_path / "o.onnx")["onnx::MatMul_1"], case["new"]["a.weight"].T)


def test_slots_take_an_adapter_and_change_nothing_without(case: Dict[str, Any], tmp_path: Path) -> None:
    ort = pytest.importorskip("onnxruntime")
    out = tmp_path / "s.onnx"
    assert main(["refit", case["model"], "--slots", "op=MatMul", "--rank", "3", "-o", str(out)]) == 0
    feed = {"x": numbers(7, 2, 4)}
    plain, slots = (ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]) for path in (case["model"],
        out))
    assert [one.name for one in slots.get_overridable_initializers()][:2] == ["a.lora_A.weight", "a.lora_B.weight"]
    np.testing.assert_array_equal(plain.run(None, feed)[0], slots.run(None, feed)[0])
    assert main(["refit", str(out), "--slots", "op=MatMul", "-o", str(tmp_path / "t.onnx")]) == 1


def test_check_weights_says_what_fits(case: Dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    path = model(tmp_path / "w.onnx", {name: case["tensors"][name] for name in ("onnx::MatMul_1", "onnx::MatMul_2")},
                 [case["nodes"][0], linear("b", "h", "y", "onnx::MatMul_2")])
    assert main(["check-weights", path, case["was"]]) == 0
    assert main(["check-weights", path, save(tmp_path / "c", {**case["old"], "d": numbers(1, 2)}), "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["check"]["missing"] == ["d"]


def test_whatever_is_handed_over_there_is_no_traceback(case: Dict[str, Any], tmp_path: Path, capsys: Any) -> None:
    odd = tmp_path / "odd"
    good = Path(case["was"]).read_bytes()
    for data in (b"", b"PK", b"\x80\x02.", good[:50], good[:-1], b"\xff" * 8 + b"{}", good.replace(b"F32", b"F33"),
                 good.replace(b"[6,", b"[-6,"), (10).to_bytes(8, "little") + b"[" * 10):
        odd.write_bytes(data)
        for words in (["--new", str(odd), "--was", case["was"]], ["--new", case["now"], "--was", str(odd)]):
            assert main(["refit", case["model"], *words, "-o", str(tmp_path / "o.onnx")]) == 3
            assert capsys.readouterr().err.count("\n") <= 2
        assert main(["refit", str(odd), "--new", case["now"], "--was", case["was"]]) == 3
        capsys.readouterr()
    bytes_ = Path(case["model"]).read_bytes()
    for at in range(0, len(bytes_), 41):
        odd.write_bytes(bytes_[:at] + bytes([bytes_[at] ^ 0xff]) + bytes_[at + 1:])
        assert main(["refit", str(odd), "--new", case["now"], "--was", case["was"], "--dry-run"]) in (0, 1, 3)
    for words in (["--new", case["now"]], ["--was", case["was"]], ["--new", case["now"], "--was", case["was"],
                                                                   "--rank", "1"]):
        assert main(["refit", case["model"], *words]) == 2
    assert main(["refit", case["model"], "--new", case["now"], "--was", case["was"], "-o", case["model"],
                 "--force"]) == 4
    with pytest.raises(TagsError, match="no option 'colour'"):
        refit(case["model"], case["now"], case["was"], colour=1)


def test_a_kill_leaves_an_old_output_or_a_new_one(case: Dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "k.onnx"
    refit(case["model"], case["now"], case["was"], out)
    before = out.read_bytes()
    code = ("import os, sys; from onnx_tag.refitting import writer; writer._copy = lambda *_: os._exit(9);"
            "from onnx_tag import refit; refit(*sys.argv[1:], force=True)")
    done = subprocess.run([sys.executable, "-c", code, case["model"], case["was"], case["was"], str(out)], check=False,
                          cwd=Path(__file__).parents[1])
    assert done.returncode == 9 and out.read_bytes() == before


def test_two_parameters_that_only_names_of_old_tell_apart(case: Dict[str, Any], tmp_path: Path) -> None:
    """Nameless products of one shape in one layer: names of OLD may be swapped, also where one of them is damaged."""
    old = {"k.weight": numbers(1, 6, 6), "o.weight": numbers(2, 6, 6)}
    nodes = [helper.make_node("MatMul", ["x", "val_1"], ["h"], name="node_1"),
             helper.make_node("MatMul", ["h", "val_2"], ["y"], name="node_2")]
    path = model(tmp_path / "u.onnx", {"val_1": old["k.weight"].T, "val_2": old["o.weight"].T}, nodes)
    now = save(tmp_path / "n.safetensors", {"k.weight": numbers(3, 6, 6), "o.weight": numbers(4, 6, 6)})
    for state in (old, {"k.weight": old["o.weight"], "o.weight": old["k.weight"]},
                  {"k.weight": old["k.weight"], "o.weight": numbers(5, 7, 6)}, {"k.weight": old["o.weight"]}):
        with pytest.raises(RefitError) as error:
            refit(path, now, save(tmp_path / "w.safetensors", state), tmp_path / "u.out.onnx", dry_run=True)
        assert all(row["fate"] == "refused" for row in error.value.rows)


def test_rows_in_another_order_are_refused(case: Dict[str, Any], tmp_path: Path) -> None:
    table = numbers(8, 9, 5)
    old, new = ({**case[name], "table": array} for name, array in (("old", table), ("new", numbers(7, 9, 5))))
    path = model(tmp_path / "t.onnx", {**case["tensors"], "anchors": table[:4]}, case["nodes"])
    was, now = save(tmp_path / "w.safetensors", old), save(tmp_path / "n.safetensors", new)
    refit(path, now, was, tmp_path / "t.out.onnx")
    np.testing.assert_array_equal(written(tmp_path / "t.out.onnx")["anchors"], new["table"][:4])
    save(tmp_path / "w.safetensors", {**old, "table": table[[3, 0, 8, 1, 7, 2, 4, 5, 6]]})
    with pytest.raises(RefitError):
        refit(path, now, was, tmp_path / "t2.onnx")
