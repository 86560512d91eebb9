"""Names that are not UTF-8, in JSON that every parser reads.

A file writes byte 0x80 + n as the private character U+EF80 + n; a name that has such a character itself is written
byte by byte. In Python the byte is what "surrogateescape" makes of it, so that
`name.encode("utf-8", "surrogateescape")` gives the bytes of the model.
"""
from __future__ import annotations

import json
import re
from typing import Any

_BYTES = {0xEF80 + n: 0xDC80 + n for n in range(128)}
_IN_TEXT = re.compile("\\\\u[eE][fF]|[\uef80-\uefff]")
# One escape; a pair of surrogates is one character.
_ESCAPE = re.compile(r"\\(?:ud[89ab]..\\ud[c-f]..|udc([89a-f].)|uef([89a-f].)|.)")


def loads(text: str) -> Any:
    """`json.loads`, with the bytes of names restored."""
    value = json.loads(text)
    return _restored(value) if _IN_TEXT.search(text) else value


def dumps(value: Any, **options: Any) -> str:
    """`json.dumps` with ASCII only and without unpaired surrogates."""
    text = json.dumps(value, ensure_ascii=True, **options)
    return _ESCAPE.sub(_portable, text) if "\\udc" in text or "\\uef" in text else text


def _portable(escape: "re.Match[str]") -> str:
    if escape[1]:
        return "\\uef" + escape[1]
    if escape[2]:
        return "".join(f"\\uef{byte:02x}" for byte in chr(0xEF00 + int(escape[2], 16)).encode())
    return escape[0]


def _restored(value: Any) -> Any:
    if isinstance(value, str):
        # Bytes that together are a character become that character again.
        return value.translate(_BYTES).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    if isinstance(value, list):
        return [_restored(item) for item in value]
    if isinstance(value, dict):
        return {_restored(key): _restored(item) for key, item in value.items()}
    return value
