"""The state that a voter must never lose: its epoch and its vote. ``quorum-state``, one line of
JSON.

Version 0 belongs to quorums whose voters are configured (``controller.quorum.voters``), version 1
to those whose voters are in the log (KIP-853). This module only converts to and from text; the
driver writes it durably before anything that depends on it happens.
"""

from __future__ import annotations

import json
from dataclasses import replace

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NO_NODE, ZERO_UUID, LeaderEpoch, NodeId, Uuid, parse_uuid, uuid_text

QUORUM_STATE = "quorum-state"
FIRST_EPOCH = LeaderEpoch(0)  # of a log that no node has led yet


class QuorumStateDamaged(ValueError):
    pass


@dataclass(frozen=True, slots=True)
class QuorumState:
    epoch: LeaderEpoch = FIRST_EPOCH
    leader_id: NodeId = NO_NODE
    voted_id: NodeId = NO_NODE
    voted_directory_id: Uuid = ZERO_UUID

    def seen(self, epoch: LeaderEpoch) -> QuorumState:
        """A later epoch has begun; its leader is unknown."""
        assert epoch > self.epoch, f"epoch {epoch} after epoch {self.epoch}"
        return QuorumState(epoch=epoch)

    def voted(self, epoch: LeaderEpoch, candidate: NodeId, directory_id: Uuid = ZERO_UUID) -> QuorumState:
        """The one vote of an epoch, recorded together with that epoch."""
        fresh = epoch == self.epoch and self.voted_id == NO_NODE
        assert epoch > self.epoch or fresh, f"a vote in epoch {epoch} after epoch {self.epoch}"
        return QuorumState(epoch=epoch, voted_id=candidate, voted_directory_id=directory_id)

    def led_by(self, leader: NodeId) -> QuorumState:
        """The leader of the epoch is known. The vote stays, so that a repeated request for it gets
        the same response."""
        return replace(self, leader_id=leader)

    def won_by(self, leader: NodeId) -> QuorumState:
        """This node leads; its vote for itself is no longer needed."""
        return QuorumState(epoch=self.epoch, leader_id=leader)


def encode_quorum_state(state: QuorumState, voters: list[NodeId] | None) -> str:
    """``voters`` are those of a configured quorum; None for one whose voters are in the log."""
    if voters is None:
        fields: dict[str, object] = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": state.voted_id,
            "votedDirectoryId": uuid_text(state.voted_directory_id),
            "data_version": 1,
        }
    else:
        fields = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in voters],
            "data_version": 0,
        }
    return json.dumps(fields, separators=(",", ":"))


def decode_quorum_state(text: str) -> QuorumState:
    try:
        fields = json.loads(text)
        return QuorumState(
            epoch=LeaderEpoch(int(fields["leaderEpoch"])),
            leader_id=NodeId(int(fields["leaderId"])),
            voted_id=NodeId(int(fields["votedId"])),
            voted_directory_id=parse_uuid(fields["votedDirectoryId"]) if "votedDirectoryId" in fields else ZERO_UUID,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise QuorumStateDamaged(f"{QUORUM_STATE} cannot be read: {error}.") from error
