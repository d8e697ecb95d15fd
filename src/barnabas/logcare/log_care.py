"""The background work on the logs of one broker, started and stopped together."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.logcare.cleaner import LogCleaner
from barnabas.logcare.housekeeping import LogHousekeeping
from barnabas.logcare.retention import LogRetention
from barnabas.metadata.applier import MetadataApplier
from barnabas.node_context import NodeContext
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.storage.delayed_removals import DelayedRemovals
from barnabas.storage.log_directory import LogDirectory


class LogCare:
    """Flushes and checkpoints (:attr:`housekeeping`), retention, compaction (:attr:`cleaner`), and
    the removal of files that are no longer in use (:attr:`removals`)."""

    def __init__(self, context: NodeContext, replicas: LocalReplicas, metadata: MetadataApplier) -> None:
        settings, clock, executor = context.settings, context.clock, context.executor
        self.removals = DelayedRemovals(executor, replicas.disk_failed)
        # Housekeeping acts while metadata is published, so it reads the newest image.
        self.housekeeping = LogHousekeeping(replicas, settings, metadata.newest, clock, executor, context.metrics)
        self.cleaner = LogCleaner(context, replicas, self.removals, metadata.effective, flush=self.housekeeping.flush)
        self._retention = LogRetention(
            replicas,
            clock,
            executor,
            self.removals,
            context.metrics,
            context.log,
            interval_ms=settings.integer("log.retention.check.interval.ms"),
            flush=self.housekeeping.flush,
        )

    def watch(self, directories: Iterable[LogDirectory]) -> None:
        """Include the logs that were on disk at start."""
        for directory in directories:
            for log in directory.logs.values():
                self.housekeeping.watch(log)

    def start(self) -> None:
        self.housekeeping.start()
        self._retention.start()
        self.cleaner.start()

    def stop(self) -> None:
        self.cleaner.stop()
        self.housekeeping.stop()
        self._retention.stop()
