"""The program `onnx-tag`: where it is, and how Python calls it.

A wheel installs the program beside Python's other commands. ONNX_TAG_PROGRAM names another one.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any, Iterator, List, NamedTuple, Sequence

from .errors import ProgramError

NAME = "onnx-tag.exe" if os.name == "nt" else "onnx-tag"
_LISTS = ("keys", "torch_nn_exceptions")


class Answer(NamedTuple):
    """What the program printed, and its exit code: 0 is done, 1 is done with findings."""
    out: str
    err: str
    code: int


def _places() -> Iterator[Path]:
    yield Path(sysconfig.get_path("scripts")) / NAME
    user = f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        yield Path(sysconfig.get_path("scripts", user)) / NAME
    package = Path(__file__).resolve().parent
    for folder in package.parents[:4]:                      # pip install --target and --prefix
        yield folder / "bin" / NAME


def find() -> str:
    """The path of the program."""
    said = os.environ.get("ONNX_TAG_PROGRAM")
    if said:
        if not (os.path.isfile(said) and os.access(said, os.X_OK)):
            raise ProgramError(f"{said}: not a program; ONNX_TAG_PROGRAM names it instead of the installed onnx-tag")
        return said
    for place in _places():
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    found = shutil.which(NAME)
    if found is None:
        raise ProgramError("the program onnx-tag is not installed: "
                           "run pip install . in its sources, or name the program in ONNX_TAG_PROGRAM")
    return found


def words(**options: Any) -> List[str]:
    """Keyword options as the command line has them: min_coverage=95 is `--min-coverage 95`, force=True is `--force`.

    None and False leave the option out. A sequence repeats it, or is joined with commas where the option takes a list.
    """
    result: List[str] = []
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            result.append(option)
        elif isinstance(value, (list, tuple)):
            texts = [os.fspath(item) if isinstance(item, os.PathLike) else str(item) for item in value]
            result.extend(f"{option}={text}" for text in ([",".join(texts)] if name in _LISTS else texts))
        elif value is not None and value is not False:
            result.append(f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return result


def _reason(err: str) -> str:
    """What the program said, without its name: the caller has one of its own."""
    said, name = err.strip(), "onnx-tag: "
    return said[len(name):] if said.startswith(name) else said


def run(arguments: Sequence[str], allow_findings: bool = True) -> Answer:
    """Runs the program. Raises ProgramError with the program's own message where it refuses."""
    path = find()
    try:
        done = subprocess.run([path, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except (OSError, ValueError) as error:
        raise ProgramError(f"{path}: cannot be run: {error}") from None
    answer = Answer(done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "surrogateescape"),
                    done.returncode)
    if answer.code != 0 and not (allow_findings and answer.code == 1):
        raise ProgramError(_reason(answer.err) or f"{path} ended with exit code {answer.code}", answer.code)
    return answer
