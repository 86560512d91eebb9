"""Adapters for slots: the numbers in the file, and what is refused by name. check_slots.py has PEFT itself."""
from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from onnx_tag import adapter
from onnx_tag.__main__ import main
from onnx_tag.errors import InputError, TagsError

CONFIG: Dict[str, Any] = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "init_lora_weights": True, "use_dora": False}


def save(folder: Path, tensors: Dict[str, np.ndarray], **config: Any) -> str:
    folder.mkdir(exist_ok=True)
    header, data = {}, b""
    for name, array in tensors.items():
        kind = {"float32": "F32", "float16": "F16", "uint16": "BF16"}[str(array.dtype)]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    (folder / "adapter_config.json").write_text(json.dumps({**CONFIG, **config}))
    return str(folder)


def pair(module: str, inside: int, outside: int, rank: int = 2, seed: int = 0) -> Dict[str, np.ndarray]:
    numbers = np.random.default_rng(seed)
    return {f"base_model.model.{module}.lora_A.weight": numbers.standard_normal((rank, inside)).astype(np.float32),
            f"base_model.model.{module}.lora_B.weight": numbers.standard_normal((outside, rank)).astype(np.float32)}


def model(path: Path, slots: List[Tuple[str, int, int]], rank: str = "lora0_rank", element: int = 1) -> str:
    make = onnx.helper.make_tensor_value_info
    inputs = [make("x", element, ["n", 4])]
    for module, inside, outside in slots:
        inputs += [make(f"{module}.lora_A.weight", element, [inside, rank]),
                   make(f"{module}.lora_B.weight", element, [rank, outside])]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "g", inputs, [])), str(path))
    return str(path)


def test_scaling_is_multiplied_in_and_the_first_pattern_counts(tmp_path: Path) -> None:
    both = {**pair("a.q", 4, 5), **pair("b.q", 4, 5, rank=3, seed=1)}
    folder = save(tmp_path / "p", both, rank_pattern={"b.q": 3}, alpha_pattern={"q": 5, "b.q": 9}, use_rslora=True)
    arrays = adapter.make(folder, model(tmp_path / "m.onnx", [("a.q", 4, 5), ("b.q", 4, 5), ("c.q", 4, 5)]))
    assert sorted(arrays) == [f"{m}.q.lora_{k}.weight" for m in "ab" for k in "AB"]
    for module, rank in (("a.q", 2), ("b.q", 3)):
        a, b = (both[f"base_model.model.{module}.lora_{k}.weight"] for k in "AB")
        product = arrays[f"{module}.lora_A.weight"] @ arrays[f"{module}.lora_B.weight"]
        np.testing.assert_allclose(product, (b @ a).T * 5 / math.sqrt(rank), rtol=1e-6, atol=1e-6)


def test_the_file_is_one_of_onnx_runtime_in_the_type_of_the_slots(tmp_path: Path) -> None:
    folder = save(tmp_path / "p", pair("a.q", 4, 5))
    path = model(tmp_path / "m.onnx", [("inner.a.q", 4, 5)], element=onnx.TensorProto.FLOAT16)
    out = tmp_path / "a.onnx_adapter"
    assert main(["adapter", folder, path, "-o", str(out)]) == 0
    assert main(["adapter", folder, path, "-o", str(out)]) == 0          # ours is replaced
    parameters = ort.AdapterFormat.read_adapter(str(out)).get_parameters()
    assert {name: value.shape() for name, value in parameters.items()} == {
        "inner.a.q.lora_A.weight": [4, 2], "inner.a.q.lora_B.weight": [2, 5]}
    assert parameters["inner.a.q.lora_A.weight"].data_type() == "tensor(float16)"
    assert main(["adapter", folder, path, "-o", path, "--force"]) == 4     # never an input
    out.write_bytes(b"something else")
    assert main(["adapter", folder, path, "-o", str(out)]) == 4


def test_numbers_of_sixteen_bits_are_read(tmp_path: Path) -> None:
    tensors = pair("q", 4, 5)
    half = {name: array.astype(np.float16) for name, array in tensors.items()}
    brain = {name: (array.view(np.uint32) >> 16).astype(np.uint16) for name, array in tensors.items()}
    path = model(tmp_path / "m.onnx", [("q", 4, 5)])
    for number, kind in enumerate((half, brain)):
        got = adapter.make(save(tmp_path / str(number), kind), path)["q.lora_A.weight"]
        np.testing.assert_allclose(got, tensors["base_model.model.q.lora_A.weight"].T, rtol=2 ** -7)


@pytest.mark.parametrize("config", [
    {"use_dora": True}, {"modules_to_save": ["head"]}, {"alora_invocation_tokens": [1]}, {"init_lora_weights": "pissa"},
    {"rank_pattern": {"^q$": 2}}, {"peft_type": "IA3"}, {"r": 3}, {"lora_alpha": None}])
def test_other_adapters_are_refused_by_name(tmp_path: Path, config: Dict[str, Any]) -> None:
    folder = save(tmp_path / "p", pair("q", 4, 5), **config)
    key, value = next(iter(config.items()))
    said = {"rank_pattern": "^q$", "r": "rank 3", "init_lora_weights": "pissa"}.get(key, key)
    with pytest.raises(TagsError) as error:
        adapter.make(folder, model(tmp_path / "m.onnx", [("q", 4, 5)]))
    assert said in str(error.value)


def test_whatever_has_no_slot_is_named(tmp_path: Path) -> None:
    folder = save(tmp_path / "p", {**pair("a.q", 4, 5), **pair("a.v", 4, 5)})
    with pytest.raises(TagsError, match=r"has no slots for 1 modules.*\n  a\.v\n"):
        adapter.make(folder, model(tmp_path / "m.onnx", [("a.q", 4, 5)]))
    with pytest.raises(TagsError, match=r"a\.v: \[4, 2\] does not fit"):
        adapter.make(folder, model(tmp_path / "m.onnx", [("a.q", 4, 5), ("a.v", 3, 5)]))
    with pytest.raises(TagsError, match="has rank 2; the slots of .* are for 1 or less"):
        adapter.make(folder, model(tmp_path / "m.onnx", [("a.q", 4, 5), ("a.v", 4, 5)], rank="lora0_rank_max1"))
    with pytest.raises(TagsError, match=r"for 1 modules.*\n  a\.v\n"):
        adapter.make(folder, model(tmp_path / "m.onnx", [("inner.b.q", 4, 5), ("inner.a.q", 4, 5)]))
    # Two prefixes fit: which is meant is not known.
    two = [(f"{tower}.a.{which}", 4, 5) for tower in "xy" for which in "qv"]
    with pytest.raises(TagsError, match="has no slots for 2 modules"):
        adapter.make(folder, model(tmp_path / "m.onnx", two))
    odd = {**pair("a.q", 4, 5), "base_model.model.a.q.lora_magnitude_vector": np.ones((5, 1), np.float32)}
    with pytest.raises(TagsError, match="lora_magnitude_vector: is no part of a plain LoRA"):
        adapter.make(save(tmp_path / "odd", odd), model(tmp_path / "m.onnx", [("a.q", 4, 5)]))


def test_damaged_files_are_one_line(tmp_path: Path) -> None:
    folder = save(tmp_path / "p", pair("q", 4, 5))
    path = model(tmp_path / "m.onnx", [("q", 4, 5)])
    file = tmp_path / "p" / "adapter_model.safetensors"
    whole = file.read_bytes()
    for size in range(0, len(whole), 7):
        file.write_bytes(whole[:size])
        with pytest.raises(InputError):
            adapter.make(folder, path)
    file.write_bytes(whole)
    with pytest.raises(InputError):
        adapter.make(folder, str(file))
    assert main(["adapter", folder, str(tmp_path / "none.onnx"), "-o", str(tmp_path / "a")]) == 3
