"""Patterns for modules as the program has them: `*` is within a name, `**` crosses dots."""
from __future__ import annotations

import re
from typing import Callable, Iterable


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a module fits one of the patterns."""
    def translated(pattern: str) -> str:
        parts = re.split(r"(\*\*|\*|\?)", pattern)
        return "".join({"**": ".*", "*": "[^.]*", "?": "[^.]"}.get(part, re.escape(part)) for part in parts)

    expression = re.compile("|".join(f"(?:{translated(pattern)})" for pattern in patterns) or r"(?!)", re.DOTALL)
    return lambda module: expression.fullmatch(module) is not None
