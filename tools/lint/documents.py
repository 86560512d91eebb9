#!/usr/bin/env python3
"""Documents that say something of the code, of figures or of each other are compared with them."""
from __future__ import annotations

import csv
import re
from pathlib import Path

import sources
from sources import ROOT

FINDINGS: list = []


def expect(good: bool, finding: str) -> None:
    if not good:
        FINDINGS.append(finding)


def text_of(file) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def pages() -> list:
    """The documents that people read."""
    first = ["README.md", "CHANGELOG.md", ".github/CONTRIBUTING.md", "tools/README.md"]
    return [Path(page) for page in first] + sorted(p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*.md"))


def layers_and_rooms() -> None:
    """The table in docs/how/architecture.md has the layers and rooms of the build, in order."""
    calls = re.findall(r"onnx_tag_layer\(\s*([a-z_/]+)([^)]*)\)", text_of("src/CMakeLists.txt"))
    layers = [path for path, rest in calls if "FOLDER" not in rest]
    rooms = [f"{path.rpartition('/')[2]}/{room}" for path, rest in calls
             for listed in re.findall(r"ROOMS ([a-z_ ]+)", rest) for room in listed.split()]
    assert len(layers) > 15 and len(rooms) > 10
    page = text_of("docs/how/architecture.md")
    table = page.partition("| storey | layer |")[2].partition("\n\n")[0]
    described = ["/".join(match) for match in re.findall(r"^\| ([a-z]+) \| `([a-z_]+)` \|", table, re.M)]
    described = [path.replace("base/base", "base") for path in described]
    expect(described == layers, f"docs/how/architecture.md has the layers {described}, src/CMakeLists.txt {layers}")
    described = re.findall(r"^\| `([a-z_]+/[a-z_]+)` \|", page, re.M)
    expect(described == rooms, f"docs/how/architecture.md has the rooms {described}, src/CMakeLists.txt {rooms}")


def named_tests() -> None:
    """"Tested by tests/a/b_test.cc and c_test.cc.": both exist; c_test.cc is beside."""
    named = 0
    for file in sources.code("src", "include", "tests/bench", "tools"):
        for files in re.findall(r"Tested by ((?:[^.]|\.(?!\s))*)\.", file.read_text(encoding="utf-8")):
            beside = Path()
            for name in map(Path, re.findall(r"[A-Za-z0-9_/]+\.(?:cc|py|sh)", files)):
                if len(name.parts) > 1:
                    beside = name.parent
                else:
                    name = beside / name
                named += 1
                expect((ROOT / name).exists(), f"{file.relative_to(ROOT)} names {name}, which does not exist")
    assert named > 20


def figures(name: str) -> dict:
    """The rows of a TSV file by their first cell; each row by the heading."""
    lines = list(csv.reader(text_of(f"docs/figures/{name}.tsv").splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in lines[1:]:
        expect(len(row) == len(lines[0]), f"docs/figures/{name}.tsv: {row[0]} has {len(row)} cells")
    return {row[0]: dict(zip(lines[0], row)) for row in lines[1:]}


def peers() -> None:
    """Our column beside a peer's is that of the measured tables, rounded to a decimal."""
    listed = figures("peers")
    assert len(listed) > 5
    for files, row in listed.items():
        measured = figures("accuracy-" + row["set"])[row["variant"]]
        exact = measured["trace: exact" if files.endswith("with a recording") else "exact"]
        expect(abs(float(row["onnx-tag"]) - float(exact)) <= 0.0501, f"peers.tsv: {files}: {row['onnx-tag']}, measured {exact}")
        for ours, other in (("nodes", "nodes"), ("models", "files")):
            if other in measured:
                expect(row[ours] == measured[other], f"peers.tsv: {files}: {ours} {row[ours]}, measured {measured[other]}")


def blocks() -> None:
    """A block is run by a test, or a comment before it says why not.

    <!-- runs: ... -->                 scripts/update-docs.sh
    a block of lines `onnx-tag ...`    tests/docs/run_examples.sh
    <!-- blocks run: FILE -->          a test that runs the page's other blocks
    <!-- not run: reason -->           before one block
    <!-- blocks not run: reason -->    for all of the page
    """
    seen = 0
    for page in [*pages(), Path("python/README.md")]:
        inside = of_page = good = examples = False
        last = first = ""
        for line in text_of(page).splitlines():
            whole = re.fullmatch("<!-- blocks (not )?run: (.+) -->", line)
            if line.startswith("```"):
                if not inside:
                    seen += 1
                    good = of_page or last.startswith(("<!-- runs: ", "<!-- not run: "))
                    examples, first = line == "```", ""
                else:
                    expect(good or examples, f"{page}: no test runs the block that begins with: {first}")
                inside = not inside
            elif inside:
                first = first or line
                examples = examples and line.startswith("onnx-tag ")
            elif whole:
                of_page = True
                expect(bool(whole[1]) or (ROOT / whole[2]).exists(), f"{page}: {whole[2]} does not exist")
            last = line or last
    assert seen > 60


def lengths() -> None:
    for page in pages():
        most = 120 if page.name == "README.md" and len(page.parts) == 1 else 250 if page.parts[0] == "docs" else 10**9
        lines = text_of(page).count("\n")
        expect(lines <= most, f"{page} has {lines} lines, more than {most}")


def first_page() -> None:
    for what, most in (("docs/pictures/report.png", 30), ("## Install", 60)):
        before, found, _ = text_of("README.md").partition(what)
        expect(bool(found) and before.count("\n") < most, f"README.md: '{what}' is not in the first {most} lines")
    # Agents find the skill by these lines; a wrapped paragraph is no front matter.
    expect(text_of("python/onnx_tag/SKILL.md").startswith("---\nname: onnx-tag\ndescription: >-\n  "),
           "python/onnx_tag/SKILL.md does not begin with its name and description")


def without_code(text: str) -> list:
    lines, code = [], False
    for line in text.splitlines():
        code ^= line.startswith("```")
        if not code:
            lines.append(line)
    return lines


def anchors(page: Path) -> set:
    """"## From A to `B`": "from-a-to-b", as GitHub and the site call it."""
    heads = re.findall(r"^#+ (.*)$", text_of(page), re.M)
    return {re.sub(r"[^a-z0-9_-]", "", head.lower().replace(" ", "-")) for head in heads}


def links() -> None:
    seen = 0
    for page in pages():
        for line in without_code(text_of(page)):
            for inline, source in re.findall(r'\]\(([^()\s]+)\)|(?:src|srcset)="([^"]+)"', line):
                target = inline + source
                if "://" in target:
                    continue
                seen += 1
                file, _, anchor = target.partition("#")
                path = (ROOT / page.parent / file).resolve() if file else ROOT / page
                if not path.exists():
                    expect(False, f"{page} links to {target}, which does not exist")
                elif anchor and path.suffix == ".md":
                    expect(anchor in anchors(path), f"{page} links to {target}, which has no such heading")
    assert seen > 100


def main() -> None:
    for check in (layers_and_rooms, named_tests, peers, blocks, lengths, first_page, links):
        check()
    sources.end("documents", FINDINGS)


main()
