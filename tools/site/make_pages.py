#!/usr/bin/env python3
"""Makes the pages of the site and mkdocs.yml out of docs/ and the program: called by tools/site/site.sh.

    python3 tools/site/make_pages.py ONNX_TAG OUT_DIR [PAGE_FOLDER]

Each TSV file of docs/figures becomes a page, and so does the help of each command. Links to files of the repository
that are not in docs/ lead to the repository. The page in PAGE_FOLDER becomes try/. Needs no packages.
"""
from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/onnx-tag/onnx-tag"
GUIDE = {"Start": ("tour", "tag", "look", "report"), "Ask and select": ("select", "names", "profile", "source-lines", "sizes"),
         "Compare": ("diff", "transfer", "compare"), "Cut and write": ("cut", "refit"), "Keep clean": ("clean", "from-0.4"),
         "Many models": ("ci", "scale-out"), "PyTorch and C++": ("companion", "moving-over", "strategies", "cpp")}
HOW = ("how-it-works", "accuracy", "recipes", "structure", "growth", "robustness", "properties", "architecture",
       "catalogue-format", "recipes-format", "report-format")
PICTURE = "![The report of a model: tree, icicle and nodes](pictures/{})"
TRY = """[Try it in this browser](try/index.html){ .md-button .md-button--primary }

Drop a model, see its tree. No byte of it leaves your machine."""


def title_of(page: pathlib.Path) -> str:
    return page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")


def with_links(text: str, page: pathlib.Path) -> str:
    """`page` is relative to docs/."""
    def link(match: re.Match) -> str:
        target, hash_, anchor = match[2].partition("#")
        if "://" in target or not target:
            return match[0]
        path = (ROOT / "docs" / page.parent / target).resolve()
        if not path.is_relative_to(ROOT / "docs"):
            return f"{match[1]}{REPOSITORY}/blob/main/{path.relative_to(ROOT)}{hash_}{anchor})"
        if path.suffix == ".tsv":
            return f"{match[1]}{target[:-4]}.md)"
        return match[0]

    blocks = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(block if i % 2 else re.sub(r"(\]\()([^()\s]+)\)", link, block) for i, block in enumerate(blocks))


def figure_page(file: pathlib.Path) -> str:
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [f"# Figures: {file.stem}", "", f"[{file.name}]({file.name}), {len(rows) - 1} rows", ""]
    for i, row in enumerate(rows):
        lines.append("| " + " | ".join(cell.replace("<", "&lt;") for cell in row) + " |")
        if i == 0:
            lines.append("|" + "---|" * len(row))
    return "\n".join(lines) + "\n"


def front_page(index: str, has_page: bool) -> str:
    """The top of README.md, up to its install section, and the table of all pages."""
    top = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Three jobs")[0]
    top = re.sub(r"<!-- .*? -->\n", "", top).replace("](docs/", "](")
    # The picture in the colours of the reader.
    shown = [*([TRY, ""] if has_page else []), PICTURE.format("report.png#only-light"), PICTURE.format("report-dark.png#only-dark")]
    top = re.sub(r"<picture>.*?</picture>", "\n".join(shown), top, flags=re.DOTALL)
    return f"---\nhide:\n  - navigation\n  - toc\n---\n{top}\n\n## All pages\n" + index.partition("\n| you want")[1] + \
        index.partition("\n| you want")[2]


def main() -> None:
    program, out, *page_folder = sys.argv[1:]
    out = pathlib.Path(out)
    pages = out / "pages"
    shutil.copytree(ROOT / "docs", pages)
    for page in sorted(pages.rglob("*.md")):
        page.write_text(with_links(page.read_text(encoding="utf-8"), page.relative_to(pages)), encoding="utf-8")
    if page_folder:
        shutil.copytree(page_folder[0], pages / "try")
    front = pages / "index.md"
    front.write_text(front_page(front.read_text(encoding="utf-8"), bool(page_folder)), encoding="utf-8")
    figures = []
    for file in sorted((pages / "figures").glob("*.tsv")):
        file.with_suffix(".md").write_text(figure_page(file), encoding="utf-8")
        figures.append({file.stem: f"figures/{file.stem}.md"})

    def say(*words: str) -> str:
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout

    commands = []
    (pages / "reference/commands").mkdir()
    for job, listed in re.findall(r"^([a-z ]+):\n((?:  [a-z]+ .*\n)+)", say("--help"), re.MULTILINE):
        group = []
        for name in re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE):
            text = say(name, "--help")
            head, _, rest = text.partition("\n\n")
            (pages / f"reference/commands/{name}.md").write_text(
                f"# onnx-tag {name}\n\n{head.partition(': ')[2].capitalize()}.\n\n```text\n{rest.rstrip()}\n```\n", encoding="utf-8")
            group.append({name: f"reference/commands/{name}.md"})
        commands.append({job[0].upper() + job[1:]: group})
    nav = [{"Home": "index.md"},
           {"Guide": [{group: [{title_of(pages / f"guide/{name}.md"): f"guide/{name}.md"} for name in names]}
                      for group, names in GUIDE.items()]},
           {"Reference": [{"The command line": "reference/command-line.md"}, {"Commands": commands},
                          {"Query language": "reference/query.md"}, {"Rules": "reference/rules.md"},
                          {"Tag format": "reference/tag-format.md"}, {"Glossary": "reference/glossary.md"}]},
           {"How it works": [*({title_of(pages / f"how/{name}.md"): f"how/{name}.md"} for name in HOW), {"Figures": figures}]},
           {"Platforms": "platforms.md"}]
    listed = json.dumps(nav)
    for page in pages.rglob("*.md"):
        if f'"{page.relative_to(pages)}"' not in listed:
            raise SystemExit(f"docs/{page.relative_to(pages)} is in no section: add it to tools/site/make_pages.py")
    palette = [{"media": f"(prefers-color-scheme: {scheme})", "scheme": name, "primary": "indigo",
                "toggle": {"icon": icon, "name": f"Switch to {other}"}}
               for scheme, name, icon, other in (("light", "default", "material/weather-night", "dark"),
                                                 ("dark", "slate", "material/weather-sunny", "light"))]
    # mkdocs reads YAML, and JSON is YAML.
    (out / "mkdocs.yml").write_text(json.dumps({
        "site_name": "onnx-tag", "site_description": "Which PyTorch module made each node of an ONNX file",
        "extra": {"generator": False, "social": [{"icon": "fontawesome/brands/github", "link": REPOSITORY}]},
        "docs_dir": "pages", "site_dir": "site", "use_directory_urls": False, "nav": nav,
        "theme": {"name": "material", "font": False, "palette": palette, "custom_dir": "overrides",
                  "features": ["navigation.tabs", "navigation.top", "content.code.copy", "search.highlight", "toc.follow"]},
        "plugins": ["search"], "strict": True,
        "markdown_extensions": ["tables", "fenced_code", "attr_list", {"toc": {"permalink": True}}],
        "validation": {"nav": {"omitted_files": "warn"},
                       "links": {"not_found": "warn", "anchors": "warn", "absolute_links": "warn"}}}, indent=1))
    (out / "overrides").mkdir()
    (out / "overrides/main.html").write_text('{% extends "base.html" %}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
