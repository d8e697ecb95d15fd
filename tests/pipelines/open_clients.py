"""Counts the open clients of librdkafka in this process, as the kernel sees them: each has one
thread called ``rdk:main``.

Threads of connections come and go while a client is open, so they are not counted: a client that
another test left open may get one more at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.waiting import until

_ONE_A_CLIENT = "rdk:main"


def librdkafka_threads() -> list[str]:
    names = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            names.append((task / "comm").read_text().strip())
    return [name for name in names if name == _ONE_A_CLIENT]


@contextmanager
def no_client_stays_open() -> Iterator[None]:
    """The block closes every client that it opens, before the garbage collector does."""
    before = librdkafka_threads()
    yield
    until(lambda: len(librdkafka_threads()) <= len(before), f"no more than {before} are left", seen=librdkafka_threads)


def sockets() -> int:
    found = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found += str(descriptor.readlink()).startswith("socket:")
    return found
