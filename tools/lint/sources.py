"""What the lints share: the files of the checkout, and how a lint ends."""
from __future__ import annotations

import pathlib
import sys
from typing import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]


def code(*folders: str) -> Iterator[pathlib.Path]:
    """The C++ files below the folders."""
    for folder in folders:
        found = sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".cc", ".h"))
        if not found:
            raise SystemExit(f"lint: no C++ file below {folder}: did it move?")
        yield from found


def rows(file: str) -> list:
    """The lines of a file of src/data that are no comments."""
    text = (ROOT / "src/data" / file).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def end(name: str, findings: list, hint: str = "") -> None:
    for finding in findings:
        print(f"{name}: {finding}", file=sys.stderr)
    if findings:
        raise SystemExit(f"{name}: {len(findings)} finding{'s' if len(findings) > 1 else ''}{'; ' + hint if hint else ''}")
    print(f"{name}: clean")
