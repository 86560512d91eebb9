"""What can go wrong with tags; every text says what to do."""
from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, Dict, Iterable, List

if TYPE_CHECKING:
    from .tags import Tags


class TagsError(Exception):
    """The tags, or a question about them, are not usable. `exit_code` is what a command ends with."""
    exit_code: "int | None" = 2


class InputError(TagsError):
    """A file that is read is not what it should be."""
    exit_code = 3


class OutputError(TagsError, OSError):
    """A file cannot be written, or must not be."""
    exit_code = 4


class UnknownWord(TagsError, KeyError):
    """A node, module, class or word that the tags do not have."""

    def __str__(self) -> str:                               # KeyError would print its quotes
        return str(self.args[0])


class ProgramError(TagsError):
    """The program onnx-tag is missing or refused; `exit_code` is the program's, or None if it did not run."""

    def __init__(self, text: str, exit_code: "int | None" = None) -> None:
        super().__init__(text)
        self.exit_code = exit_code


class GateError(TagsError):
    """The model is tagged, and a gate such as `min_coverage` is not met. `tags` has the tags."""

    def __init__(self, text: str, tags: "Tags") -> None:
        super().__init__(text)
        self.tags = tags


class RefitError(TagsError):
    """Tensors of the model follow from nothing in the old checkpoint. `rows` has what became of each tensor."""

    def __init__(self, text: str, rows: List[Dict[str, Any]]) -> None:
        super().__init__(text)
        self.rows = rows


def printable(text: str) -> str:
    """Names as a terminal may show them: control characters, marks of direction and bytes that are no text escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "".join(f"\\x{byte:02x}" for byte in c.encode("utf-8", "surrogateescape"))
                   for c in text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`, did you mean 'attention'?`, or nothing."""
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1) or [w for w in words if w.lower() == word.lower()]
    return f", did you mean {near[0]!r}?" if near else ""
