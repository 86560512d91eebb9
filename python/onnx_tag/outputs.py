"""The one gate for files that the companion writes, with the rules of the program.

    inputs = Inputs()
    inputs.add("model.onnx", "the model")
    with Output("errors.tsv", inputs, head=b"value\t") as out:
        out.write(b"...")

- An output is never an input, under any name, with `force`, too.
- An existing file is replaced if it is of the kind that is written there (it begins with `head`), or with `force`.
- The file is complete or not there: it gets its name when the block ends without an error.
"""
from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import string
import tempfile
from types import TracebackType
from typing import IO, Dict, Iterator, Optional, Pattern, Tuple, Type, Union

from .errors import OutputError
from .onnx_file import external_files

PathLike = Union[str, "os.PathLike[str]"]
Head = Union[bytes, Pattern[bytes]]
# As the program names and locks them: a later run of it removes what a crash left behind.
_TEMPORARY = ".onnx-tag-"
_LETTERS = string.ascii_letters + string.digits


class Inputs:
    """The files that are read. A file is the same under every name and link."""

    def __init__(self) -> None:
        self._files: Dict[Tuple[int, int], str] = {}

    def add(self, path: Optional[PathLike], what: str) -> None:
        """`what` tells the user what the file is for. A name without a file adds nothing."""
        with contextlib.suppress(OSError, ValueError):
            if path is not None:
                status = os.stat(path)
                self._files[status.st_dev, status.st_ino] = what

    def add_model(self, path: PathLike, what: str) -> None:
        """An ONNX model and the files with its weights."""
        self.add(path, what)
        for name in external_files(path):
            self.add(os.path.join(os.path.dirname(os.fspath(path)), name), f"weights of {what}")

    def find(self, path: PathLike) -> Optional[str]:
        with contextlib.suppress(OSError, ValueError):
            status = os.stat(path)
            return self._files.get((status.st_dev, status.st_ino))
        return None


    def refuse_standard_output(self) -> None:
        """`1<>model` would print the result into the model."""
        try:
            status = os.fstat(1)
        except OSError:
            return
        what = self._files.get((status.st_dev, status.st_ino))
        if what is not None and stat.S_ISREG(status.st_mode):
            raise OutputError(f"standard output is an input of this command ({what})\n  redirect it to another file")


def judge(path: PathLike, inputs: Inputs, head: Head = b"", force: bool = False) -> str:
    """The file that `path` leads to. Raises OutputError where it must not be written.

    `head`: how every file of this kind begins, or a pattern for it; empty if that does not tell ours from others'.
    """
    name = os.fspath(path)
    if "\0" in name or not name:
        raise OutputError(f"{name!r} is not the name of a file")
    # A link stays a link, and the file that it leads to is replaced, as `cp` does it.
    target = os.path.realpath(name) if os.path.islink(name) else name
    what = inputs.find(target)
    if what is not None:
        raise OutputError(f"{name}: is an input of this command ({what})\n  give the output another name")
    try:
        mode = os.stat(target).st_mode
    except OSError:
        return target
    if stat.S_ISDIR(mode):
        raise OutputError(f"{name}: is a folder\n  name a file in it")
    if not stat.S_ISREG(mode):
        raise OutputError(f"{name}: is a device or a pipe; it is never replaced")
    if not force and not _begins(target, head):
        raise OutputError(f"{name}: exists and was not written by onnx_tag\n  replace it with --force, or give the "
                          "output another name")
    return target


def _begins(path: str, head: Head) -> bool:
    try:
        with open(path, "rb") as file:
            if isinstance(head, bytes):
                return bool(head) and file.read(len(head)) == head
            return head.match(file.read(256)) is not None
    except OSError:
        return False


class Output:
    """A file that is complete or not there."""

    def __init__(self, path: PathLike, inputs: Inputs, head: Head = b"",
                 force: bool = False) -> None:
        self._target = judge(path, inputs, head, force)
        self._again = (path, inputs, head, force)
        self._temporary = ""
        self._file: Optional[IO[bytes]] = None

    def __enter__(self) -> IO[bytes]:
        folder = os.path.dirname(self._target) or "."
        try:
            self._temporary, handle = _create(folder)
        except OSError as error:
            raise _failed(self._target, error) from None
        self._file = os.fdopen(handle, "w+b")
        return self._file

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        assert self._file is not None
        try:
            if kind is None:
                self._file.flush()
                judge(*self._again)                         # somebody else may have written in the meantime
                os.replace(self._temporary, self._target)
                self._temporary = ""
        except OSError as failure:
            raise _failed(self._target, failure) from None
        finally:
            if self._temporary:
                with contextlib.suppress(OSError):
                    os.remove(self._temporary)
            with contextlib.suppress(OSError):              # what was not written is gone with the file
                self._file.close()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise _failed(self._target, error) from None


def _failed(path: str, error: OSError) -> OutputError:
    return OutputError(f"{path}: could not write: {error.strerror or error}")


def _create(folder: str) -> Tuple[str, int]:
    while True:
        name = os.path.join(folder, _TEMPORARY + "".join(secrets.choice(_LETTERS) for _ in range(6)))
        with contextlib.suppress(FileExistsError):
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
            with contextlib.suppress(ImportError, OSError):
                import fcntl
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return name, handle


def write(path: PathLike, data: bytes, inputs: Inputs, head: Head = b"", force: bool = False) -> None:
    """Writes a small file whole. One that has these bytes already is left alone."""
    if not inputs.find(path):
        with contextlib.suppress(OSError, ValueError), open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size == len(data) and file.read() == data:
                return
    with Output(path, inputs, head, force) as out:
        out.write(data)


# A model as torch writes it: the version of the format, then who made it.
EXPORTED = re.compile(rb"\x08.\x12\x07pytorch", re.DOTALL)


@contextlib.contextmanager
def exported(path: PathLike, force: bool = False) -> Iterator[str]:
    """A name for an exporter to write a model to. The model and its weights get their places when the block ends.

    A model that torch exported before is replaced, and so are the weights that it names.
    """
    target = _exportable(path, force)
    replaced = external_files(target)
    folder = os.path.dirname(target) or "."
    try:
        staging = tempfile.mkdtemp(prefix=_TEMPORARY, dir=folder)
    except OSError as error:
        raise _failed(target, error) from None
    try:
        yield os.path.join(staging, os.path.basename(target))
        try:
            _exportable(path, force)
            names = sorted(os.listdir(staging), key=lambda name: name == os.path.basename(target))
            for name in names[:-1]:
                beside = os.path.join(folder, name)         # torch leaves an empty one if the model has its weights
                judge(beside, Inputs(), force=force or name in replaced or _is_empty(beside))
            for name in names:                              # weights first: a model is never without them
                os.replace(os.path.join(staging, name), os.path.join(folder, name))
        except OSError as error:
            raise error if isinstance(error, OutputError) else _failed(target, error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _is_empty(path: str) -> bool:
    with contextlib.suppress(OSError):
        return os.path.getsize(path) == 0
    return False


def _exportable(path: PathLike, force: bool) -> str:
    try:
        return judge(path, Inputs(), EXPORTED, force)
    except OutputError as error:
        raise OutputError(str(error).replace("was not written by onnx_tag", "is not a model that torch exported")
                          ) from None
