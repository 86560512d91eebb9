#!/usr/bin/env python3
"""No architecture and no list of operators in code: the program was founded on that rule.

What single classes, families and operators need is a row or a column of a file in src/data. Looks at string literals only.
"""
from __future__ import annotations

import re

import sources

# file/protobuf makes nodes, so it names an operator.
WITHOUT_OPERATORS = ("src/base", "src/file/io", "src/file/json", "src/file/model", "src/file/wire", "src/core", "src/clues",
                     "src/mapping", "src/uses", "src/app")
WITHOUT_FAMILIES = ("src/base", "src/file", "src/core", "src/clues/projection", "src/clues/recipes", "src/clues/recording",
                    "src/clues/structure", "src/mapping", "src/uses", "src/app/page", "src/app/render")
# Classes of torch.nn that have the name of an operator.
CLASSES = {"Dropout", "GroupNorm", "Identity"}
# Families whose name is an ordinary word; model.opt.onnx is an optimized model.
ORDINARY = {"align", "beam", "bit", "bloom", "clip", "git", "opt", "twins"}
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def words_in(text: str) -> set:
    """"XLMRobertaModel2d" has the words xlm, roberta, model, d; and, as a whole, xlmrobertamodel2d."""
    words = set()
    for name in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        words.add(name.lower())
        words.update(part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name))
    return words


def literals(folders: tuple):
    for file in sources.code(*folders):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("#include"):
                continue
            for text in LITERAL.findall(line.partition("// ")[0]):
                yield f"{file.relative_to(sources.ROOT)}:{number}: {text}", text


def family_words() -> set:
    """Of the catalogue's root classes ("Bert" of BertModel), unless a class of torch.nn has the word, too."""
    families = set()
    for row in sources.rows("catalogue.txt"):
        if row[0] in "!:" and "\t" in row:
            families.add(re.split("[\t~]", row.split("\t", 1)[1])[0].lower())
    for row in sources.rows("torch_nn_classes.txt"):
        families -= words_in(row)
    return families - ORDINARY - {""}


def main() -> None:
    operators = {re.split("[@ ]", row)[0] for row in sources.rows("operators.txt")}
    families = family_words()
    assert "MatMul" in operators and {"bert", "roberta", "llama", "gemma"} <= families and "linear" not in families
    findings = [f"{place} is an operator: ask core/graph/operators.h" for place, text in literals(WITHOUT_OPERATORS)
                if text in operators - CLASSES]
    # The operator WhisperBeamSearch names a family.
    findings += [f"{place} names a family of models" for place, text in literals(WITHOUT_FAMILIES)
                 if text not in operators and words_in(text) & families]
    sources.end("names_in_code", findings, "make it a row or a column of a file in src/data")


main()
