"""What calls the program: `tag`, `query`, `Tags.load` of a model, and `python -m onnx_tag` with other words."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

import onnx_tag
from onnx_tag import GateError, ProgramError, Tags, TagsError, program, tag
from onnx_tag.tags import ATTENTION_KINDS, CONFIDENCE, TYPES

BERT = ROOT / "tests/models/bert_tiny/model.onnx"
NAME = "/encoder/layer.0/attention/self/query/MatMul"
QUERY = "encoder.layer.0.attention.self.query"


@pytest.fixture()
def bert(tmp_path, binary):
    shutil.copy(BERT, tmp_path / "bert.onnx")
    return tmp_path / "bert.onnx"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_tag_writes_what_the_command_writes_and_returns_the_tags(bert):
    tags = tag(bert)
    assert tags.module_of(NAME) == QUERY
    assert names(bert.parent) == ["bert.onnx", "bert.tagged.onnx", "bert.tags.json"]
    assert Tags.load(bert.parent / "bert.tags.json").document == tags.document


def test_options_are_those_of_the_command(bert, tmp_path):
    out = tmp_path / "out.onnx"
    tags = tag(bert, out, granularity="torch_nn", no_sidecar=True, keys=["tags", "namespace"], min_coverage=50,
               require_module=[QUERY, "pooler"], force=False, rules=None)
    assert tags.node(NAME).hierarchy_tag.endswith("/BertSelfAttention/Linear")
    assert names(tmp_path) == ["bert.onnx", "out.onnx"]
    assert [n.module for n in tags.query("layer=0 and component=query and op=MatMul")] == [QUERY]
    assert b"namespace" in out.read_bytes()


def test_a_gate_that_is_not_met_raises_and_has_the_tags(bert):
    with pytest.raises(GateError, match="no.such.module") as raised:
        tag(bert, sidecar_only=True, require_module="no.such.module")
    assert raised.value.tags.module_of(NAME) == QUERY


def test_what_the_program_refuses_raises_with_its_words(bert, tmp_path):
    with pytest.raises(ProgramError, match="did you mean 'enhanced_semantic'") as raised:
        tag(bert, strategy="enhanced_semntic")
    assert raised.value.exit_code == 2
    with pytest.raises(ProgramError, match="--min-coverage"):
        tag(bert, min_covrage=5)
    with pytest.raises(ProgramError, match="No such file"):
        tag(tmp_path / "none.onnx")
    for batch in ("recursive", "dry_run", "json"):
        with pytest.raises(TagsError, match="takes one model"):
            tag(bert, **{batch: True})


def test_a_tagged_model_is_read_and_another_is_refused(bert, tmp_path):
    sidecar = tag(bert, tmp_path / "tagged.onnx", no_sidecar=True)
    loaded = Tags.load(tmp_path / "tagged.onnx")
    assert loaded.nodes == sidecar.nodes
    # A module without nodes of its own has no class in the file.
    known = {m.path: m.class_name for m in loaded.modules.values() if m.class_name is not None}
    assert set(known.items()) <= {(m.path, m.class_name) for m in sidecar.modules.values()}
    assert len(loaded.query("type=attention and layer=1")) == len(sidecar.attention(1))
    with pytest.raises(TagsError, match="has no tags; make them with onnx_tag.tag"):
        Tags.load(bert)
    (tmp_path / "x.onnx").write_bytes(b"\x00not a model")
    with pytest.raises(ProgramError, match="not an ONNX model"):
        Tags.load(tmp_path / "x.onnx")


def test_a_query_is_in_the_commands_language(bert):
    tags = tag(bert, sidecar_only=True)
    found = tags.query("type=attention and layer=0 and op in (MatMul, Softmax)")
    assert found == [n for n in tags.find(type="attention", layer=0) if n.op in ("MatMul", "Softmax")]
    assert tags.query("class=Nobody") == []
    for wrong, message in (("tpe=attention", "did you mean 'type'"), ("type=atention", "did you mean 'attention'"),
                           ("layer=", r"\^"), ("--jsn", "--jsn")):
        with pytest.raises(ProgramError, match=message):
            tags.query(wrong)
    memory = Tags(tags.document)                            # there is no file to ask
    assert memory.query("layer=1 and op=Softmax") == [n for n in memory if n.layer == 1 and n.op == "Softmax"]


def test_words_of_the_interface_are_those_of_the_format():
    schema = json.loads((ROOT / "docs/reference/schemas/sidecar.schema.json").read_text())

    def enums(value):
        if isinstance(value, dict):
            if "enum" in value:
                yield tuple(word for word in value["enum"] if word is not None)
            for item in value.values():
                yield from enums(item)
        elif isinstance(value, list):
            for item in value:
                yield from enums(item)

    found = {frozenset(words) for words in enums(schema)}
    assert {frozenset(TYPES), frozenset(ATTENTION_KINDS), frozenset(CONFIDENCE)} <= found


def run_module(*words, **environment):
    return subprocess.run([sys.executable, "-m", "onnx_tag", *words], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(ROOT / "python"), **environment))


def test_other_words_go_to_the_program(bert, binary):
    done = run_module("query", str(bert), f"module={QUERY} and op=MatMul", ONNX_TAG_PROGRAM=binary)
    assert (done.returncode, done.stdout) == (0, NAME + "\n")
    assert run_module("no-such-command", ONNX_TAG_PROGRAM=binary).returncode in (2, 3)
    done = run_module("show", "x.onnx", ONNX_TAG_PROGRAM="/no/such/program")
    assert done.returncode == 2 and "/no/such/program" in done.stderr


def test_the_version_is_the_programs(binary):
    assert subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout == \
        f"onnx-tag {onnx_tag.__version__}\n"


def test_the_program_is_found_beside_the_package(tmp_path, monkeypatch):
    monkeypatch.delenv("ONNX_TAG_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(program, "_places", lambda: iter([tmp_path / "gone", tmp_path / "onnx-tag"]))
    with pytest.raises(ProgramError, match="the program onnx-tag is not installed"):
        program.find()
    (tmp_path / "onnx-tag").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "onnx-tag").chmod(0o755)
    assert program.find() == str(tmp_path / "onnx-tag")
    with pytest.raises(ProgramError, match="exit code 3"):
        program.run(["show"])
