"""The Python of the guide runs as shown."""
from __future__ import annotations

import os
import re

import pytest
from conftest import ROOT

pytest.importorskip("torch")
PAGES = [(ROOT / f"docs/guide/{name}.md").read_text(encoding="utf-8") for name in ("companion", "compare")]
PAGE = "\n".join(PAGES)


def test_every_block_of_the_page_runs(tmp_path, monkeypatch, binary, schema):
    (tmp_path / "onnx-tag").symlink_to(os.path.abspath(binary))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    space = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, "docs/guide/companion.md", "exec"), space)
    schema.validate(space["recording"])


def test_commands_of_the_page_are_those_of_the_program():
    from onnx_tag.__main__ import parser
    for line in re.findall(r"^    python -m onnx_tag (.*)$", PAGE, re.MULTILINE):
        parser().parse_args(line.split())
