"""A fetch that found too little and waits: for enough bytes, for its deadline, or for an error.

It registers with every partition that it reads. The first of these events completes it, once.
Completing reads again, so the response has what is there at that moment, not what was there when
the wait began.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from barnabas.replication.partition import Partition


class Timer(Protocol):
    def cancel(self) -> object: ...


class WaitingFetch:
    __slots__ = ("_complete", "_missing_bytes", "_partitions", "committed_only", "follower", "timer")

    def __init__(
        self,
        partitions: Sequence[Partition],
        *,
        missing_bytes: int,
        complete: Callable[[], object],
        committed_only: bool = False,
        follower: bool = False,
    ) -> None:
        """A ``follower`` waits for appended records, other clients for committed ones."""
        self._partitions = partitions
        self._missing_bytes = missing_bytes
        self.committed_only = committed_only
        self.follower = follower
        self._complete: Callable[[], object] | None = complete
        self.timer: Timer | None = None
        for partition in partitions:
            partition.progress.await_data(self)

    def arrived(self, size_bytes: int) -> None:
        self._missing_bytes -= size_bytes
        if self._missing_bytes <= 0:
            self.complete()

    def complete(self) -> None:
        complete, self._complete = self._complete, None
        if complete is None:
            return
        self.cancel()
        complete()

    def cancel(self) -> None:
        """Stop waiting, without a response."""
        self._complete = None
        if self.timer is not None:
            self.timer.cancel()
        for partition in self._partitions:
            partition.progress.stop_waiting(self)
