"""What a broker does about a directory that failed, and about one that is full.

A failed one is told to the controller at once, which gives what it led to others. A broker that cannot tell goes after
``log.dir.failure.timeout.ms``: the cluster would go on sending clients to leaders that do not answer. Nor can a broker go on without any
directory, or without its metadata log.

A full one is only complained of, now and then: whoever wanted to write has heard it, and it goes on as soon as there is room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.controller.broker_lifecycle import BrokerLifecycle
from barnabas.logcare.directories.node_directories import NodeDirectories
from barnabas.node_context import NodeContext
from barnabas.storage.log_directory import LogDirectory
from barnabas.telemetry.catalogue import DIRECTORY_FULL

# The same directory is complained of no more often than this.
COMPLAINT_INTERVAL_MS = 10_000


class DirectoryFailures:
    def __init__(
        self, context: NodeContext, directories: NodeDirectories, lifecycle: BrokerLifecycle, leads_in: Callable[[LogDirectory], bool]
    ) -> None:
        """``leads_in`` says whether the metadata names this node as a leader of something in a directory."""
        self._context = context
        self._directories = directories
        self._lifecycle = lifecycle
        self._leads_in = leads_in
        self._complain_ms: dict[LogDirectory, int] = {}
        self._timers: dict[LogDirectory, asyncio.TimerHandle] = {}

    def failed(self, directory: LogDirectory, error: OSError) -> None:
        self._context.log.error("log directory failed", directory=directory.path, error=str(error), partitions=len(directory.logs))
        if not self._directories.any_online or self._directories.holds_metadata(directory):
            self._context.fatal(error)
            return
        self._lifecycle.heartbeat_now()
        seconds = self._context.settings.integer("log.dir.failure.timeout.ms") / 1000
        self._timers[directory] = asyncio.get_running_loop().call_later(seconds, self._check_told, directory, error)

    def _check_told(self, directory: LogDirectory, error: OSError) -> None:
        if directory.directory_id not in self._lifecycle.reported_offline and self._leads_in(directory):
            self._context.log.error("no controller could be told of a failed log directory", directory=directory.path)
            self._context.fatal(error)

    def full(self, directory: LogDirectory, error: OSError) -> None:
        self._context.metrics.counter(DIRECTORY_FULL, directory.path).value += 1
        now_ms = self._context.clock.monotonic_ms()
        if now_ms >= self._complain_ms.get(directory, now_ms):
            self._complain_ms[directory] = now_ms + COMPLAINT_INTERVAL_MS
            self._context.log.error("log directory is full", directory=directory.path, error=str(error))

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
