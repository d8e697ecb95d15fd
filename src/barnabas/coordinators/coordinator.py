"""From an id (of a group or of a transaction) to the shard that coordinates it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.placement import partition_for
from barnabas.coordinators.runtime import CoordinatorRuntime, Machine, Prepared
from barnabas.env.clock import Clock
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise

R = TypeVar("R")
M = TypeVar("M", bound=Machine)


class Coordinator(Generic[M]):
    def __init__(self, topic: str, runtime: CoordinatorRuntime[M], clock: Clock, partition_count: Callable[[], int]) -> None:
        """``partition_count`` is that of the internal topic, 0 while the topic does not exist."""
        self.topic = topic
        self.runtime = runtime
        self._clock = clock
        self._partition_count = partition_count

    def partition_of(self, identity: str) -> int | None:
        count = self._partition_count()
        return partition_for(identity, count) if count else None

    def run(self, identity: str, operation: Callable[[M, int], Outcome[R]]) -> Promise[R | ErrorCode]:
        """Run ``operation(machine, now_ms)`` on the shard of ``identity``; an error code if the
        shard is on another broker or not loaded.
        """
        partition = self.partition_of(identity)
        if partition is None:
            return Promise.kept(ErrorCode.NOT_COORDINATOR)
        return self.run_at(partition, operation)

    def run_at(self, partition: int, operation: Callable[[M, int], Outcome[R]]) -> Promise[R | ErrorCode]:
        now_ms = self._clock.wall_ms()
        return self.runtime.run(partition, now_ms, lambda machine: operation(machine, now_ms))

    def run_prepared(self, partition: int, operations: Sequence[Prepared[M]]) -> Sequence[Promise[ErrorCode] | None]:
        """As :meth:`CoordinatorRuntime.run_prepared`, with the time of now."""
        return self.runtime.run_prepared(partition, self._clock.wall_ms(), operations)
