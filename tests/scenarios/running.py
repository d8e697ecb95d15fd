"""A node in a thread of this process, with ports of the test's choosing; and a disk on which chosen
operations fail.
"""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from barnabas.devcluster.development import development_properties
from barnabas.env.disk import Disk
from barnabas.env.real_disk import RealDisk, RealFile, RealLock
from barnabas.model.buffers import Buffer
from barnabas.node.node import Node
from barnabas.node.process import ensure_formatted, parse_settings, run_loop
from barnabas.telemetry.logs import EventLog
from tests.waiting import PATIENCE_SECONDS

T = TypeVar("T")


class RunningNode:
    """``with RunningNode(directories, disk=...) as node:`` stops cleanly at the end, unless the
    node halted by itself."""

    def __init__(self, directories: Sequence[Path], *, disk: Disk | None = None, config: Mapping[str, str] | None = None) -> None:
        overrides = {"log.dirs": ",".join(map(str, directories)), **(config or {})}
        self._properties = development_properties(data_dir=str(directories[0]), overrides=overrides)
        self._disk = disk
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None
        self._stop: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self.node: Node
        self.bootstrap = ""
        self.halted = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE_SECONDS), "the node neither started nor refused to"
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.halted.is_set():
            self.call(self._stop.set)
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the node did not stop"

    def call(self, function: Callable[[], T]) -> T:
        """Run something on the node's own thread."""

        async def run() -> T:
            return function()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(PATIENCE_SECONDS)

    def _run(self) -> None:
        try:
            run_loop(self._main())
        except BaseException as failure:  # noqa: BLE001 - handed to the thread that waits
            self._failure = failure
        finally:
            self.halted.set()
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        settings = parse_settings(self._properties)
        ensure_formatted(settings)
        self.node = Node(settings, log=EventLog("ERROR"), disk=self._disk)
        self.bootstrap = (await self.node.start()).bootstrap
        self._ready.set()
        ends = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(self.node.failed.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for each in ends:
            each.cancel()
        await self.node.stop()


class FailingDisk(RealDisk):
    """The operating system's files, some of which can no longer be written, synced or read."""

    def __init__(self) -> None:
        # Prefixes of paths, with the operations that fail below each.
        self.broken: dict[str, set[str]] = {}

    def fail(self, path: Path | str, *operations: str) -> None:
        """``operations`` are out of write, sync, read, open and rename."""
        self.broken[str(path)] = set(operations)

    def heal(self) -> None:
        self.broken.clear()

    def check(self, path: str, operation: str) -> None:
        for beginning, operations in self.broken.items():
            if path.startswith(beginning) and operation in operations:
                raise OSError(errno.EIO, "Input/output error", path)

    def open(self, path: str) -> RealFile:
        self.check(path, "open")
        return _FailingFile(path, self)

    def names(self, directory: str) -> list[str]:
        self.check(directory, "read")
        return super().names(directory)

    def read(self, path: str) -> bytes:
        self.check(path, "read")
        return super().read(path)

    def rename(self, source: str, target: str) -> None:
        self.check(target, "rename")
        super().rename(source, target)

    def sync_directory(self, path: str) -> None:
        self.check(path, "sync")
        super().sync_directory(path)

    def lock(self, path: str) -> RealLock | None:
        self.check(path, "open")
        return super().lock(path)


class _FailingFile(RealFile):
    __slots__ = ("_disk",)

    def __init__(self, path: str, disk: FailingDisk) -> None:
        super().__init__(path)
        self._disk = disk

    def read_at(self, position: int, size_bytes: int) -> bytes:
        self._disk.check(self.path, "read")
        return super().read_at(position, size_bytes)

    def write_at(self, position: int, data: Buffer) -> None:
        self._disk.check(self.path, "write")
        super().write_at(position, data)

    def sync(self) -> None:
        self._disk.check(self.path, "sync")
        super().sync()
