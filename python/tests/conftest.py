"""Where things are, and what may be skipped: nothing, when ONNX_TAG_BINARY says that this is the whole run."""
from __future__ import annotations

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))


@pytest.fixture(scope="session")
def binary() -> str:
    """The program under test."""
    path = os.environ.get("ONNX_TAG_BINARY")
    if not path:
        pytest.skip("ONNX_TAG_BINARY is not set")
    os.environ["ONNX_TAG_PROGRAM"] = path
    return path


@pytest.fixture(scope="session")
def schema() -> object:
    import json

    import jsonschema
    document = json.loads((ROOT / "docs/reference/schemas/recording.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)
