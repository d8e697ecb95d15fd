"""How a broker handles a directory that failed, and one that is full.

The broker reports a failed directory to the controller at once, and the controller moves leadership
elsewhere. If no controller acknowledges the report within ``log.dir.failure.timeout.ms``, a broker
that leads partitions there stops, because the cluster would go on sending clients to leaders that
do not answer. The broker also stops without any working directory, or without its metadata log.

A full directory is only logged, now and then: the request that could not write got an error, and
writes succeed again as soon as there is room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.controller.broker_lifecycle import BrokerLifecycle
from barnabas.logcare.directories.node_directories import NodeDirectories
from barnabas.node_context import NodeContext
from barnabas.storage.log_directory import LogDirectory
from barnabas.telemetry.catalogue import DIRECTORY_FULL

# The same directory is logged no more often than this.
FULL_LOGGED_INTERVAL_MS = 10_000


class DirectoryFailures:
    def __init__(
        self, context: NodeContext, directories: NodeDirectories, lifecycle: BrokerLifecycle, leads_in: Callable[[LogDirectory], bool]
    ) -> None:
        """``leads_in`` returns whether the metadata names this node as the leader of a partition in
        a directory."""
        self._context = context
        self._directories = directories
        self._lifecycle = lifecycle
        self._leads_in = leads_in
        self._next_logged_ms: dict[LogDirectory, int] = {}
        self._timers: dict[LogDirectory, asyncio.TimerHandle] = {}

    def failed(self, directory: LogDirectory, error: OSError) -> None:
        self._context.log.error("log directory failed", directory=directory.path, error=str(error), partitions=len(directory.logs))
        if not self._directories.any_online or self._directories.holds_metadata(directory):
            self._context.fatal(error)
            return
        self._lifecycle.heartbeat_now()
        seconds = self._context.settings.integer("log.dir.failure.timeout.ms") / 1000
        self._timers[directory] = asyncio.get_running_loop().call_later(seconds, self._check_reported, directory, error)

    def _check_reported(self, directory: LogDirectory, error: OSError) -> None:
        if directory.directory_id not in self._lifecycle.reported_offline and self._leads_in(directory):
            self._context.log.error("failed log directory could not be reported to a controller", directory=directory.path)
            self._context.fatal(error)

    def full(self, directory: LogDirectory, error: OSError) -> None:
        self._context.metrics.counter(DIRECTORY_FULL, directory.path).value += 1
        now_ms = self._context.clock.monotonic_ms()
        if now_ms >= self._next_logged_ms.get(directory, now_ms):
            self._next_logged_ms[directory] = now_ms + FULL_LOGGED_INTERVAL_MS
            self._context.log.error("log directory is full", directory=directory.path, error=str(error))

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
