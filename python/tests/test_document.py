"""The file format, without torch."""
from __future__ import annotations

import collections
import csv
import json
import os

import pytest
from conftest import ROOT

from onnx_tag import RecordingError, document
from onnx_tag.errors import OutputError

RECORDINGS = sorted((ROOT / "tests/truth").glob("*/recording.json"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.parent.name)
def test_recordings_that_are_checked_in_fit_the_schema_and_are_written_alike(path, schema):
    loaded = document.load(path)
    schema.validate(loaded)
    assert document.dumps(loaded) == path.read_text()


def test_names_that_are_not_utf8_are_written_for_every_parser(tmp_path):
    odd = {"modules": {"a\udc80\udcff": "A", "\uef80": "B", "\\udc80 \U0001f642": "C"}}
    text = document.dumps(odd)
    assert not any(0xD800 <= ord(c) < 0xE000 for key in json.loads(text)["modules"] for c in key)
    path = tmp_path / "r.json"
    path.write_text(text)
    assert document.load(path) == odd


def test_there_are_recordings():
    assert len(RECORDINGS) >= 3


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.parent.name)
def test_numbers_in_recordings_lead_somewhere(path):
    r = document.load(path)
    values, calls = len(r["values"]), len(r["calls"])

    def numbers(argument):
        if isinstance(argument, int):
            yield argument
        elif isinstance(argument, list):
            for item in argument:
                yield from numbers(item)

    made = {i for i, v in enumerate(r["values"]) if "kind" in v}
    for i, value in enumerate(r["values"]):
        if "merges" in value:
            made.add(i)
    for event in r["events"]:
        used = set(numbers(event["inputs"])) | {v for a in event.get("kwargs", {}).values() for v in numbers(a)}
        assert used <= made, event
        made |= set(event["outputs"]) | set(event.get("writes", ()))
        assert event["module"] == r["calls"][event["call"]]["module"]
        first, last = r["functions"][event["function"]]["events"]
        assert first <= r["events"].index(event) < last or r["events"].count(event) > 1
    assert made <= set(range(values))
    for k, call in enumerate(r["calls"]):
        assert call["module"] in r["modules"]
        assert call["parent"] is None or call["parent"] < k <= calls
    names = [node["name"] for node in r["fx"]]
    assert len(names) == len(set(names))
    for node in r["fx"]:
        assert node.get("module", "") in r["modules"]


@pytest.mark.parametrize("text, message", [
    ("{", "not JSON"), ("[]", "not an object"), ('{"format": "x/1"}', "reads 'onnx-tag-recording/1'"),
    ("[" * 200000, "nested too deeply"),
    ("{}", "python -m onnx_tag record"), ('{"modules": []}', "no object 'modules'")])
def test_other_files_are_refused_with_what_to_do(tmp_path, text, message):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(RecordingError, match=message):
        document.load(path)


def test_a_plain_module_map_is_a_recording(tmp_path, schema):
    path = tmp_path / "hierarchy.json"
    path.write_text('{"modules": {"": "M", "a": "Linear"}}')
    schema.validate(document.load(path))


def test_a_file_is_complete_or_not_there(tmp_path):
    path = tmp_path / "r.json"
    document.save({"format": document.FORMAT, "modules": {"": {"class": "M"}}}, path)
    before = path.read_text()
    with pytest.raises(TypeError):
        document.save({"format": document.FORMAT, "modules": {"": {"class": object()}}}, path)
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]


def test_a_link_in_the_way_loses_nothing(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / "r.json"
    path.symlink_to(victim)
    for name in (f"r.json.{os.getpid()}.part", "r.json.part"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(OutputError, match="exists"):
        document.save({"format": document.FORMAT, "modules": {}}, path)
    assert victim.read_text() == "precious" and path.is_symlink()
    path.unlink()
    document.save({"format": document.FORMAT, "modules": {}}, path)
    assert victim.read_text() == "precious"
    assert document.load(path)["modules"] == {}


def test_every_entry_has_its_line():
    text = document.dumps({"format": document.FORMAT, "modules": {"": {"class": "M"}, "a": {"class": "é\n"}},
                           "events": [], "values": [{"dtype": "float32", "shape": [1]}] * 2})
    assert text.count("\n") == 8
    assert json.loads(text)["modules"]["a"]["class"] == "é\n"


FUNCTIONS = {"linear": "product", "matmul": "product", "addmm": "product", "bmm": "product", "conv1d": "Conv",
             "conv2d": "Conv", "layer_norm": "LayerNormalization", "softmax": "Softmax"}


@pytest.mark.parametrize("variant", ["ts", "dyn"])
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda p: p.parent.name)
def test_recordings_say_what_is_known_of_the_exports(path, variant):
    """Every product, convolution, norm and softmax of the export is in the trace, in the same module."""
    recording = document.load(path)
    shared = {p: m["shared_with"] for p, m in recording["modules"].items() if "shared_with" in m}
    traced = collections.Counter()
    for function in recording["functions"]:
        kind = FUNCTIONS.get(function["name"].rpartition(".")[2])
        if kind:
            traced[kind, recording["calls"][function["call"]]["module"]] += 1
    known = collections.Counter()
    opaque = {recording["calls"][f["call"]]["module"] for f in recording["functions"]
              if f["name"].endswith("multi_head_attention_forward")}
    with open(path.parent / f"{variant}.truth.tsv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            kind = "product" if row["op_type"] in ("MatMul", "Gemm") else row["op_type"]
            if kind in FUNCTIONS.values() and row["module"] not in opaque:
                known[kind, shared.get(row["module"], row["module"])] += 1
    assert traced == known
