"""rename-weights: initializers get the names of their parameters, and strip gives the old ones back."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, List

import pytest

onnx = pytest.importorskip("onnx")
np = pytest.importorskip("numpy")
from onnx import helper, numpy_helper  # noqa: E402

from onnx_tag.__main__ import main  # noqa: E402


def model(path: Path, result: str = "y") -> str:
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "onnx::MatMul_7"], ["h"], name="/fc/MatMul"),
        helper.make_node("Add", ["fc.bias", "h"], ["y"], name="/fc/Add"),
    ]
    tensors = [
        numpy_helper.from_array(np.ones((3, 2), np.float32), "onnx::MatMul_7"),
        numpy_helper.from_array(np.ones(2, np.float32), "fc.bias"),
    ]
    graph = helper.make_graph(
        nodes, "g", [value("x", 1, [1, 3])], [value(result, 1, [1, 2] if result == "y" else [3, 2])], tensors
    )
    onnx.save(
        helper.make_model(
            graph,
            producer_name="pytorch",
            producer_version="2.5",
            ir_version=8,
            opset_imports=[helper.make_opsetid("", 17)],
        ),
        path,
    )
    return str(path)


def names(path: Any) -> List[str]:
    return [one.name for one in onnx.load(path).graph.initializer]


def test_initializers_get_the_names_of_their_parameters(tmp_path: Path, binary: str, capsys: Any) -> None:
    path = model(tmp_path / "m.onnx")
    assert main(["rename-weights", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["renamed"] == [{"from": "onnx::MatMul_7", "to": "fc.weight"}]
    renamed = tmp_path / "m.renamed.onnx"
    assert names(renamed) == ["fc.weight", "fc.bias"]
    assert list(onnx.load(renamed).graph.node[0].input) == ["x", "fc.weight"]
    onnx.checker.check_model(str(renamed))
    assert main(["rename-weights", str(renamed)]) == 4, "renamed before"
    subprocess.run([binary, "strip", str(renamed), "-o", str(tmp_path / "back.onnx"), "-q"], check=True)
    assert onnx.load(tmp_path / "back.onnx") == onnx.load(path)


def test_an_output_of_the_graph_keeps_its_name(tmp_path: Path, binary: str, capsys: Any) -> None:
    path = model(tmp_path / "m.onnx", result="onnx::MatMul_7")
    assert main(["rename-weights", path, "-o", str(tmp_path / "out.onnx")]) == 0
    assert "keeps its name: it is an output of the graph" in capsys.readouterr().out
    assert names(tmp_path / "out.onnx") == names(path)
