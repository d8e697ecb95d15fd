"""The progress of every replica, as the leader sees it, and the high watermark that follows from
it.

A replica that fetches from an offset has everything below it on its disk. The leader itself counts
with the part of its log that is flushed.
"""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import ZERO_UUID
from barnabas.quorum.core.settings import CAUGHT_UP_MS_MAX, OBSERVER_SESSION_MS, OBSERVERS_MAX
from barnabas.quorum.core.voters import ReplicaKey, VoterSet

UNKNOWN = -1


@dataclass(slots=True)
class ReplicaProgress:
    key: ReplicaKey
    end_offset: int = UNKNOWN
    last_fetch_ms: int = UNKNOWN
    last_caught_up_ms: int = UNKNOWN
    leader_end_at_last_fetch: int = UNKNOWN

    def fetched(self, offset: int, *, leader_end: int, now_ms: int) -> None:
        if offset >= leader_end:
            self.last_caught_up_ms = now_ms
        elif 0 < self.leader_end_at_last_fetch <= offset:
            # The replica now has everything that was in the log at its previous fetch, so it was
            # caught up at that time.
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.last_fetch_ms = now_ms
        self.leader_end_at_last_fetch = leader_end
        self.end_offset = offset

    def caught_up(self, now_ms: int) -> bool:
        return self.last_caught_up_ms > 0 and self.last_fetch_ms > now_ms - CAUGHT_UP_MS_MAX


class Progress:
    def __init__(self, voters: VoterSet) -> None:
        self._replicas: dict[ReplicaKey, ReplicaProgress] = {}
        self._voters = voters

    def follow(self, voters: VoterSet) -> None:
        """The voters changed; the progress of each replica is kept."""
        self._voters = voters

    def of(self, key: ReplicaKey) -> ReplicaProgress:
        found = self._replicas.get(key)
        return found if found is not None else ReplicaProgress(key)

    def fetched(self, key: ReplicaKey, offset: int, *, leader_end: int, now_ms: int) -> None:
        replica = self._replicas.get(key)
        if replica is None:
            self._forget_silent(now_ms)
            if len(self._replicas) >= OBSERVERS_MAX and not self._voters.includes(key):
                return
            replica = self._replicas[key] = ReplicaProgress(key)
        replica.fetched(offset, leader_end=leader_end, now_ms=now_ms)

    def voters(self) -> Iterator[ReplicaProgress]:
        """One entry for each voter, whether it has fetched or not."""
        for voter in self._voters.values():
            fetched = [replica for key, replica in self._replicas.items() if voter.is_replica(key)]
            # A configured voter has no directory id. Of several replicas that fetched under its
            # node id, the latest one counts.
            yield max(fetched, key=lambda each: each.last_fetch_ms, default=ReplicaProgress(voter.key))

    def observers(self, now_ms: int) -> list[ReplicaProgress]:
        self._forget_silent(now_ms)
        return [replica for key, replica in sorted(self._replicas.items()) if not self._voters.includes(key)]

    def committed(self, myself: ReplicaKey, flushed_offset: int) -> int:
        """The largest offset that a majority of the voters has on disk; -1 while too many voters
        have not fetched."""
        offsets = sorted(
            (flushed_offset if self._is(replica, myself) else replica.end_offset for replica in self.voters()),
            reverse=True,
        )
        return offsets[len(offsets) // 2]

    def successors(self, myself: ReplicaKey) -> list[ReplicaKey]:
        """The other voters, the one with the longest log first."""
        others = [replica for replica in self.voters() if not self._is(replica, myself)]
        return [replica.key for replica in sorted(others, key=lambda each: (-each.end_offset, each.key))]

    @staticmethod
    def _is(replica: ReplicaProgress, key: ReplicaKey) -> bool:
        return replica.key.node_id == key.node_id and replica.key.directory_id in (ZERO_UUID, key.directory_id)

    def _forget_silent(self, now_ms: int) -> None:
        silent = [
            key
            for key, replica in self._replicas.items()
            if now_ms - replica.last_fetch_ms >= OBSERVER_SESSION_MS and not self._voters.includes(key)
        ]
        for key in silent:
            del self._replicas[key]
