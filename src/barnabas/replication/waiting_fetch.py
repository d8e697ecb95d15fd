"""A fetch that found too little and waits: for enough bytes, for its time to be up, or for something to go wrong.

It registers with every partition it reads. Whichever comes first completes it, once; completing reads again, so the answer is what is
there at that moment and not what was there when it began to wait.
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
        """A ``follower`` waits for what is appended, the others for what is committed."""
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
        """Wait no longer, answer nothing."""
        self._complete = None
        if self.timer is not None:
            self.timer.cancel()
        for partition in self._partitions:
            partition.progress.stop_waiting(self)
