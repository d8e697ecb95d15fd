"""Which functions run as compiled code, and which in Python.

Reading records costs the interpreter about half a microsecond for each, which compaction pays for
every record of a log. So these functions exist twice: in Python, where they are always complete,
and in ``native/record_scanner.c``, which ``make`` compiles where it finds a C compiler
(``docs/decisions/0021``). The decorator puts the compiled one in the place of the other. Both give
the same answers: the compiled one leaves bytes that it does not accept, and so all errors, to its
twin in Python.

``BARNABAS_PURE_PYTHON=1`` in the environment keeps the compiled code out of a process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

from barnabas.model.buffers import Buffer

PURE_VARIABLE = "BARNABAS_PURE_PYTHON"

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])


class KeyTable(Protocol):
    """The table of ``storage.compaction.key_map`` with C's own types; offsets must rise.

    ``add`` returns the number of records without a key, or one of the two constants below;
    ``staying`` returns None for malformed records.
    """

    @property
    def entries(self) -> int: ...

    @property
    def size_bytes(self) -> int: ...

    def add(self, body: Buffer, count: int, last_offset_delta: int, base_offset: int, start_offset: int, /) -> int: ...

    def staying(
        self, body: Buffer, count: int, last_offset_delta: int, base_offset: int, end_offset: int, without_tombstones: bool, /
    ) -> tuple[list[int], bool] | None: ...

    def survivors(self, base_offset: int, end_offset: int, /) -> list[int] | None: ...


NO_ROOM = -1
MALFORMED = -2


def _extension() -> Any:
    if os.environ.get(PURE_VARIABLE, "") not in ("", "0"):
        return None
    try:
        from barnabas.model import _record_scanner  # type: ignore[attr-defined]
    except ImportError:
        return None
    return _record_scanner


_record_scanner = _extension()


def is_compiled() -> bool:
    return _record_scanner is not None


def compiled(function: _FunctionT) -> _FunctionT:
    """The compiled twin of a function, where there is one. Its arguments must be positional."""
    if _record_scanner is None:
        return function
    return cast(_FunctionT, _record_scanner.compiled(function.__name__.lstrip("_"), function))


def in_python(function: _FunctionT) -> _FunctionT:
    """The function itself, also where its compiled twin is in its place."""
    return cast(_FunctionT, getattr(function, "__self__", function))


def new_key_table(secret: bytes, entries_max: int) -> KeyTable | None:
    """None where nothing is compiled. ``secret`` are 16 bytes that producers cannot know."""
    return None if _record_scanner is None else cast(KeyTable, _record_scanner.KeyTable(secret, entries_max))
