"""What onnx-tag writes for other programs, made of hostile names and read by real parsers.

usage: check_reports.py ONNX_TAG

A model whose names hold markup, quotes, control characters, line breaks and bytes that are not UTF-8 goes through every
format. JUnit and GraphML are read by expat, JSON by json,
HTML by html.parser, GitHub annotations by the rules that GitHub documents, TSV by csv. Each must give every name back or hold
it as text: no element, annotation, column or script may come from a name.
"""

import csv
import html.parser
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HOSTILE = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "a&amp;b<>\"'", "]]>", "<!--", "-->", "<![CDATA[x",
    "::error file=x::owned", "%0A::warning::owned", "a\n::error::owned", "a\r\nb", "tab\tbed", "nul\0byte", "esc\x1b[2J",
    "\x7f\x85\u2028\u2029", "\u202eoverride", "\ufeffbom", "back\\slash", "quote\"];x->y[label=\"", "{|}", "\\n\\l\\G", "$(x)`y`",
    "a,b;c", "", " ", "'", "\\", "\\\"", "&#0;", "&#x1;", "\U0001f600", "x" * 5000,
]
BYTES = [b"\xff\xfe\x80", b"\xed\xa0\x80", b"\xc3", b"ok\xf0\x9f"]


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    return varint(number << 3 | 2) + varint(len(value)) + value


def model(names):
    graph = b""
    for i, name in enumerate(names):
        encoded = name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass")
        scoped = b"/layers.%d/" % i + encoded + b"/MatMul"
        weight = b"layers.%d." % i + encoded + b".weight"
        node = field(1, b"v%d" % i + encoded) + field(1, weight) + field(2, b"v%d" % (i + 1)) + field(3, scoped)
        graph += field(1, node + field(4, "MatMul" if i % 2 else name))
        graph += field(5, field(1, 4) + field(1, 4) + field(2, 1) + field(8, weight))
    return field(1, 10) + field(2, "pytorch") + field(7, graph + field(2, names[0])) + field(8, field(2, 17))


class Page(html.parser.HTMLParser):
    """The elements of a page with their attributes, the text of each script, and all other text."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.scripts = []
        self.text = []
        self.within = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(attrs)))
        if tag == "script":
            self.scripts.append("")
        self.within = tag

    def handle_endtag(self, tag):
        self.within = None

    def handle_data(self, data):
        if self.within == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)


def strings_of(document):
    """All texts in a JSON document."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, list):
        for item in document:
            yield from strings_of(item)
    elif isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from strings_of(value)


def main():
    program = sys.argv[1]
    work = pathlib.Path(tempfile.mkdtemp())
    failures = []

    def run(*words, ok=(0, 1)):
        done = subprocess.run([program, *map(str, words)], capture_output=True, cwd=work)
        if done.returncode not in ok:
            failures.append(f"{words}: exit {done.returncode}: {done.stderr[:300]!r}")
        return done.stdout

    def expect(holds, what):
        if not holds:
            failures.append(what)

    names = HOSTILE + BYTES
    (work / "m.onnx").write_bytes(model(names))
    run("tag", "m.onnx", "-q")
    nodes = len(names)

    # A file whose own name is hostile; a gate that fails quotes patterns.
    odd = work / "a<b>&\"'\n::error::x.onnx"
    odd.write_bytes(model(names))
    for file in ("m.onnx", odd.name):
        gates = ["--min-coverage", "100", "--require-module", "<x>&\"::error::*", "--max-untagged", "0"]
        junit = run("tag", file, "--format", "junit", "--dry-run", *gates)
        suite = xml.etree.ElementTree.fromstring(junit)
        expect(any(case.find("failure") is not None for case in suite.iter("testcase")), "junit: no failure is told of")
        expect({e.tag for e in suite.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "error", "skipped",
                                                 "properties", "property", "system-out", "system-err"},
               "junit: an element came from a name")
        github = run("tag", file, "--format", "github", "--dry-run", *gates)
        for line in github.decode("utf-8", "replace").split("\n"):
            if not line.startswith("::"):
                expect("::error" not in line, f"github: a command within a line: {line[:80]!r}")
                continue
            shape = re.fullmatch(r"::(error|warning|notice|group|endgroup)( [^:\n]*)?::[^\n\r]*", line)
            expect(shape is not None, f"github: not one annotation: {line[:120]!r}")
        check = run("check", file, "--format", "junit", *gates[:2])
        xml.etree.ElementTree.fromstring(check)

    for words in (["show", "m.onnx", "--json", "--nodes"], ["query", "m.onnx", "layer>=0", "--json"],
                  ["diff", "m.onnx", "m.tags.json", "--json"], ["check", "m.onnx", "--json"],
                  ["export", "m.onnx", "--to", "netron"], ["explain", "m.onnx", "#1", "--json"]):
        for document in [run(*words)] if words[0] != "query" else run(*words).splitlines() or [b"null"]:
            try:
                json.loads(document)
            except ValueError:
                try:
                    json.loads(run(*words))
                except ValueError as error:
                    expect(False, f"{words}: {error}")
                break
    json.loads((work / "m.tags.json").read_text(encoding="utf-8"))

    graphml = xml.etree.ElementTree.fromstring(run("export", "m.onnx", "--to", "graphml"))
    kinds = {element.tag.rsplit("}")[-1] for element in graphml.iter()}
    expect(kinds <= {"graphml", "key", "graph", "node", "edge", "data", "default", "desc"}, f"graphml: elements {kinds}")

    rows = list(csv.reader(io.StringIO(run("export", "m.onnx", "--to", "tsv").decode("utf-8", "replace"), newline=""),
                           delimiter="\t", quoting=csv.QUOTE_NONE))
    expect(len(rows) == nodes + 1, f"tsv: {len(rows)} rows for {nodes} nodes")
    expect(len({len(row) for row in rows}) == 1, "tsv: a name made a column")

    # The page of a hostile model is that of a plain one, but for the data.
    (work / "plain.onnx").write_bytes(model(["plain"]))
    pages = {}
    for file, more in (("plain.onnx", []), ("m.onnx", []), (odd.name, []), ("m.onnx", [odd.name])):
        out = run("report", file, *more, "-o", "-").decode("utf-8")
        page = pages[file, *more] = Page(out)
        plain = pages["plain.onnx",]
        expect(page.elements == plain.elements, f"html: {file} {more}: an element came from a name")
        expect(page.text == plain.text, f"html: {file} {more}: text came from a name")
        expect(page.scripts[1:] == plain.scripts[1:], f"html: {file} {more}: a script came from a name")
        texts = "\n".join(strings_of(json.loads(page.scripts[0])))
        for name in HOSTILE if file == "m.onnx" else []:
            shown = name.strip() and name.isprintable() and "/" not in name and "." not in name and len(name) < 100
            expect(not shown or name in texts, f"html: {name!r} is not in the data")

    shutil.rmtree(work)
    print("\n".join(failures) or "all reports are read by their parsers")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
