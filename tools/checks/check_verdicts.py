#!/usr/bin/env python3
"""One reading, one verdict: every command on every file, and whether all say the same of it.

    check_verdicts.py BINARY [--table] FOLDER_OR_ARCHIVE...

Takes *.onnx and *.onnx.xz of folders and of .tar.xz archives. A command that exits with 3 says that the file is no readable
model, and names the file; any other exit code says that it is one. Prints a line for each file where commands differ, where an
error does not begin with the file, or where a command ends in another way (a signal, exit codes from 5 on); with --table a row
for every file. Exit 1 where anything is wrong.
"""
from __future__ import annotations

import lzma
import pathlib
import subprocess
import sys
import tarfile
import tempfile
from typing import Dict, Iterator, List, Tuple

NOT_READABLE = 3
REFUSED = 4     # to write, whatever the file is


def commands(file: str, out: str) -> Dict[str, List[str]]:
    keep = ["--data", "keep"]
    return {
        "tag": ["tag", file, "-o", f"{out}/t.onnx", *keep],
        "tag --sidecar-only": ["tag", file, "--sidecar-only", "--sidecar", f"{out}/s.tags.json"],
        "show": ["show", file],
        "explain": ["explain", file, "#0"],
        "query": ["query", file, "layer>=0"],
        "select": ["select", file, "op=Relu", "--for", "names"],
        "diff": ["diff", file, file],
        "check": ["check", file],
        "strip": ["strip", file, "-o", f"{out}/stripped.onnx", *keep],
        "transfer": ["transfer", file, file, "-o", f"{out}/carried.onnx", *keep],
        "export": ["export", file, "--to", "graphml"],
        "strategies": ["strategies", file],
        "report": ["report", file, "-o", f"{out}/page.html"],
        "weights": ["weights", file],
        "tap": ["tap", file, "--module", "**", "-o", f"{out}/tap.onnx", *keep],
        "extract": ["extract", file, "--module", "", "-o", f"{out}/part.onnx", *keep],
        "split": ["split", file, "--at", "", "--out-dir", f"{out}/parts", *keep],
        "split --parts": ["split", file, "--parts", "2", "--by", "flops", "--dry-run"],
        "split --budget": ["split", file, "--budget", "1kB", "--by", "memory", "--dry-run"],
        "select --budget": ["select", file, "--for", "layer-ann", "--device", "gpu", "--budget", "1kB"],
        "diff --weights": ["diff", file, file, "--weights"],
        "show --measure memory": ["show", file, "--measure", "memory", "--shape", "batch=2"],
        "show --shape": ["show", file, "--shape", "batch=7"],
        "profile": ["profile", file, f"{out}/numbers.tsv"],
        "profile --by op": ["profile", file, f"{out}/numbers.tsv", "--by", "op"],
        "filt": ["filt", file],
        "strip --private": ["strip", file, "--private", "-o", f"{out}/public.onnx", *keep],
    }


def judge(binary: str, file: str, out: str) -> Tuple[str, List[str]]:
    """The verdict of the first command, and what is wrong."""
    (pathlib.Path(out) / "numbers.tsv").write_text("name\tms\na\t1\n")
    verdicts: Dict[str, bool] = {}
    errors: Dict[str, str] = {}
    wrong: List[str] = []
    for name, words in commands(file, out).items():
        done = subprocess.run([binary, *words], capture_output=True, stdin=subprocess.DEVNULL, timeout=600)
        verdicts[name] = done.returncode != NOT_READABLE
        if not 0 <= done.returncode <= REFUSED:
            wrong.append(f"{name}: exit {done.returncode}")
        if not verdicts[name]:
            errors[name] = done.stderr.decode(errors="replace")
            if not errors[name].startswith(f"onnx-tag: {file}: "):
                wrong.append(f"{name}: {errors[name].splitlines()[:1]}")
    for verdict in (True, False):
        names = [name for name, said in verdicts.items() if said == verdict]
        if names and len(names) < len(verdicts) and len(names) * 2 <= len(verdicts):
            wrong.append(f"{', '.join(names)}: {'readable' if verdict else 'not readable'}, unlike the others")
    if len(set(errors.values())) > 1:
        wrong.append(f"errors differ: {sorted(set(errors.values()))}")
    first = errors.get("tag", "")
    return ("readable" if not first else first.removeprefix(f"onnx-tag: {file}: ").splitlines()[0]), wrong


def files(source: pathlib.Path, scratch: pathlib.Path) -> Iterator[pathlib.Path]:
    if source.is_file():
        with tarfile.open(source) as archive:
            for member in archive:
                content = archive.extractfile(member) if member.name.endswith((".onnx", ".onnx.xz")) else None
                if content is not None:
                    (scratch / pathlib.Path(member.name).name).write_bytes(content.read())
        source = scratch
    for path in sorted(source.rglob("*.onnx")):
        yield path
    for path in sorted(source.rglob("*.onnx.xz")):
        plain = scratch / path.stem
        plain.write_bytes(lzma.decompress(path.read_bytes()))
        yield plain


def main() -> int:
    binary, *sources = sys.argv[1:]
    table = "--table" in sources
    failed = count = 0
    for source in [pathlib.Path(word) for word in sources if word != "--table"]:
        with tempfile.TemporaryDirectory() as scratch:
            for file in files(source, pathlib.Path(scratch)):
                with tempfile.TemporaryDirectory() as out:
                    verdict, wrong = judge(binary, str(file), out)
                count += 1
                failed += bool(wrong)
                if table:
                    print(f"| `{file.name}` | {verdict} | {'; '.join(wrong) or 'one'} |", flush=True)
                for line in wrong if not table else []:
                    print(f"{file.name}: {line}", flush=True)
    print(f"{count - failed} of {count} files have one verdict of {len(commands('', ''))} commands")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
