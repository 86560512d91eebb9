#!/usr/bin/env python3
"""Lists sentences that are long, or whose subject is a pronoun such as "what" or "those": exit 1 if there is one.

    python3 tools/checks/check_sentences.py FILE.md...

A sentence has at most 25 words. Code is one word; blocks of code and lists of nothing but code are skipped. Needs no packages.
"""
from __future__ import annotations

import pathlib
import re
import sys
from typing import Iterator, List, Tuple

MOST = 25
PRONOUN = re.compile(r"\W*(what|those|which|who|whoever|whatever)\b", re.IGNORECASE)
ITEM = re.compile(r"#+ |[-*] |(\d+)\. ")


def paragraphs(text: str) -> Iterator[Tuple[int, str]]:
    """Paragraphs, items of lists and cells of tables, each with its line."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", lambda gone: "\n" * gone[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    words: List[str] = []
    start = 0
    last = -1  # number of the item before; a wrapped line may begin with the last number of a sentence
    for number, line in enumerate([*text.splitlines(), ""], 1):
        stripped = line.strip()
        item = ITEM.match(stripped)
        if item and item[1]:
            item = item if int(item[1]) == last + 1 or not words else None
            last = int(item[1]) if item else last
        begins = not stripped or stripped[0] in "|<" or item
        if begins and words:
            yield start, " ".join(words)
            words = []
        if stripped.startswith("|"):
            yield from ((number, cell.strip()) for cell in re.split(r"(?<!\\)\|", stripped.strip("|")))
        elif stripped and stripped[0] != "<" and (words or not line.startswith("    ")):
            start = start if words else number
            words.append(stripped[item.end():] if item else stripped)


def sentences(paragraph: str) -> Iterator[str]:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]+`", "CODE", paragraph))
    yield from re.split(r"(?<=[.!?;:])[)*\"]*\s+(?=[A-Z\"*(])|(?<=[.!?])[)*\"]*\s+", plain)


def main() -> int:
    found = 0
    for name in sys.argv[1:]:
        for line, paragraph in paragraphs(pathlib.Path(name).read_text(encoding="utf-8")):
            for sentence in sentences(paragraph):
                words = [word for word in sentence.split() if re.search(r"\w", word)]
                if sum("CODE" in word for word in words) > len(words) / 2:
                    continue
                if len(words) > MOST or (PRONOUN.match(sentence) and not sentence.rstrip().endswith("?")):
                    found += 1
                    print(f"{name}:{line}: {len(words)} words: {sentence}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
