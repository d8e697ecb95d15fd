"""The votes of one election, counted over the voters with which it began."""

from __future__ import annotations

from barnabas.model.ids import NodeId
from barnabas.quorum.core.voters import ReplicaKey, VoterSet


class Votes:
    def __init__(self, voters: VoterSet, myself: ReplicaKey) -> None:
        """A node votes for itself at once, unless it is being removed: then only the other votes
        count."""
        self._voters = voters
        self._granted = {myself.node_id: True} if voters.includes(myself) else {}

    def record(self, voter: NodeId, *, granted: bool) -> None:
        """The first response of a voter stands; a repeated or changed one is not counted again."""
        if voter in self._voters:
            self._granted.setdefault(voter, granted)

    @property
    def granting(self) -> list[NodeId]:
        return sorted(voter for voter, granted in self._granted.items() if granted)

    @property
    def unrecorded(self) -> list[NodeId]:
        return [voter for voter in self._voters if voter not in self._granted]

    @property
    def won(self) -> bool:
        return len(self.granting) >= self._voters.majority

    @property
    def lost(self) -> bool:
        return len(self.granting) + len(self.unrecorded) < self._voters.majority
