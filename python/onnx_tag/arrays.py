"""Reads files of arrays: .npz, a zip of .npy files. Nothing in them is executed, and sizes are bounded."""
from __future__ import annotations

import math
import os
import stat
import zipfile
from typing import IO, TYPE_CHECKING, Any, Dict, Tuple

from .errors import InputError

if TYPE_CHECKING:
    import numpy as np
    Array = np.ndarray[Any, Any]

LIMIT = 1 << 33                                             # bytes of all arrays of a file


def open_regular(path: str) -> IO[bytes]:
    """Opens a file. Refuses pipes and devices, which may never end. Raises InputError."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise InputError(f"{path}: " + ("a link that leads nowhere" if os.path.islink(path)
                                        else "there is no such file")) from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise InputError(f"{path}: not a regular file")
    return os.fdopen(file, "rb")


def read_npz(path: str) -> "Dict[str, Array]":
    """The arrays of an .npz file, by name. Raises InputError."""
    try:
        with open_regular(path) as opened, zipfile.ZipFile(opened) as file:
            total = 0
            arrays = {}
            for info in file.infolist():
                if not info.filename.endswith(".npy"):
                    raise ValueError(f"{info.filename!r} is not an array")
                with file.open(info) as entry:
                    array, size = read_npy(entry, LIMIT - total)
                total += size
                arrays[info.filename[:-len(".npy")]] = array
            return arrays
    except InputError:
        raise
    except Exception as error:      # zipfile, zlib and numpy raise a dozen kinds for damaged files
        reason = str(error) or type(error).__name__
        raise InputError(f"{path}: not an .npz file with arrays: {reason}\n"
                         "  write one with numpy.savez(\"x.npz\", input_name=array)") from None


def read_npy(file: IO[bytes], limit: int) -> "Tuple[Array, int]":
    """One array and its size in bytes. Refuses objects, which numpy would unpickle, and more than `limit` bytes."""
    import numpy as np
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(file)
    if dtype.hasobject or dtype.names:
        raise ValueError("an array holds objects instead of numbers")
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size > limit:
        raise ValueError(f"more than {LIMIT >> 30} GiB of arrays")
    data = bytearray()
    while len(data) < size:                                 # what the header promises may not be there
        piece = file.read(min(size - len(data), 1 << 24))
        if not piece:
            raise ValueError("an array ends too early")
        data += piece
    if file.read(1):
        raise ValueError("an array is longer than its header says")
    array = np.frombuffer(data, dtype=dtype) if size else np.zeros(count, dtype)
    return array.reshape(shape, order="F" if fortran else "C"), size
