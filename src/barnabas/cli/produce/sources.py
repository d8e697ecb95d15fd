"""Files and stdin, cut into the texts of records.

Bytes are taken as they come, so that a line typed at a terminal is sent when it is complete and not
when a buffer is full.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from barnabas.cli.errors import Refused

STDIN = Path("-")
# The most that librdkafka sends in one record (message.max.bytes). Input without a delimiter must
# not fill the memory.
RECORD_BYTES_MAX = 1_000_000_000
_READ_BYTES = 65_536


class TooLong(Exception):
    """A record without an end; the text is a sentence."""


class Sources:
    """``paths`` in their order; stdin without any. ``moved`` is called with the bytes read so
    far."""

    def __init__(self, paths: list[Path]) -> None:
        for path in paths:
            _check_readable(path)
        self._paths = paths or [STDIN]
        self.moved: Callable[[float], None] = lambda _: None
        self._read_bytes = 0
        self._path = STDIN
        self._number = 0

    @property
    def size_bytes(self) -> int | None:
        """None unless all of it is in regular files, whose sizes are known."""
        sizes = [os.stat(path) for path in self._paths if path != STDIN]
        if len(sizes) < len(self._paths) or not all(stat.S_ISREG(each.st_mode) for each in sizes):
            return None
        return sum(each.st_size for each in sizes)

    @property
    def is_typed(self) -> bool:
        return STDIN in self._paths and sys.stdin.isatty()

    @property
    def place(self) -> str:
        """Of the last text, for error messages."""
        if not self._number:
            return str(self._path)
        return f"Line {self._number}" if self._path == STDIN else f"Line {self._number} of {self._path}"

    def texts(self, delimiter: bytes) -> Iterator[bytes]:
        """Raises ``TooLong`` or ``OSError``."""
        for path in self._paths:
            self._path = path
            with _opened(path) as file:
                for number, text in enumerate(split(self._chunks(file), delimiter), start=1):
                    self._number = number
                    # Lines from Windows end in two characters.
                    yield text.removesuffix(b"\r") if delimiter == b"\n" else text

    def whole(self) -> Iterator[bytes]:
        """Each file as one text."""
        for path in self._paths:
            self._path = path
            with _opened(path) as file:
                text = bytearray()
                for chunk in self._chunks(file):
                    text += chunk
                    _check_length(text)
                yield bytes(text)

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        read = getattr(file, "read1", file.read)
        while chunk := read(_READ_BYTES):
            yield chunk
            self._read_bytes += len(chunk)
            self.moved(self._read_bytes)


def split(chunks: Iterable[bytes], delimiter: bytes) -> Iterator[bytes]:
    """The texts between delimiters, which may lie across two chunks. No empty text follows a last
    delimiter."""
    rest = bytearray()
    for chunk in chunks:
        searched = max(0, len(rest) - len(delimiter) + 1)
        rest += chunk
        if rest.find(delimiter, searched) < 0:
            _check_length(rest)
            continue
        *complete, last = bytes(rest).split(delimiter)
        yield from complete
        rest = bytearray(last)
    if rest:
        yield bytes(rest)


def _check_length(text: bytearray) -> None:
    if len(text) > RECORD_BYTES_MAX:
        raise TooLong(f"A record has more than {RECORD_BYTES_MAX} bytes; it and the records after it were not sent.")


def _check_readable(path: Path) -> None:
    """Before anything is sent: a missing third file should not be found after the first two."""
    if path == STDIN:
        return
    if path.is_dir():
        raise Refused(f"{path}: Is a directory.")
    try:
        if not os.access(path, os.R_OK):
            os.stat(path)
            raise Refused(f"{path}: Permission denied.")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error


class _Unclosed:
    """Standard input, which stays open."""

    def __enter__(self) -> BinaryIO:
        return sys.stdin.buffer

    def __exit__(self, *_: object) -> None:
        pass


def _opened(path: Path) -> BinaryIO | _Unclosed:
    return _Unclosed() if path == STDIN else path.open("rb")
