"""The quorum's state machine: ``step(event, now_ms) -> effects``.

Today a quorum has one voter, this node, and so two roles:

    unattached --Started--> leader      its own vote, once durable, is the majority
    leader     --Stop-----> unattached

The invariants are those of any quorum: an epoch is persisted before anything is written in it; the high watermark is the largest
offset that a majority has on its disk, never falls, and only moves over a batch of the leader's own epoch (the leader change
that opens it), because batches of older epochs could still be replaced.
"""

from __future__ import annotations

from typing import assert_never

from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.raft.effects import BecameLeader, Committed, Effect, Flush, Persist, Resigned, WriteBatch, WriteLeaderChange
from barnabas.raft.events import Append, Event, Flushed, Started, Stop
from barnabas.raft.quorum_state import QuorumState


class QuorumNode:
    def __init__(self, node_id: NodeId, voters: tuple[NodeId, ...], state: QuorumState) -> None:
        assert voters == (node_id,), "a quorum of several voters needs votes from others"
        self.node_id = node_id
        self.voters = voters
        self.state = state
        self.leading = False
        self.log_end_offset = 0
        self.flushed_offset = 0
        self.epoch_start_offset = 0
        self.high_watermark = 0
        self.last_step_ms = 0

    @property
    def epoch(self) -> LeaderEpoch:
        return self.state.epoch

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        self.last_step_ms = now_ms
        match event:
            case Started():
                return self._elect(event)
            case Append():
                return self._append(event)
            case Flushed():
                return self._flushed(event)
            case Stop():
                return self._resign()
            case _:
                assert_never(event)

    def _elect(self, event: Started) -> list[Effect]:
        self.log_end_offset = self.flushed_offset = event.log_end_offset
        vote = self.state.voted(LeaderEpoch(self.state.epoch + 1), self.node_id)
        self.state = vote.led_by(self.node_id)
        self.leading = True
        self.epoch_start_offset = self.log_end_offset
        self.log_end_offset += 1
        return [
            Persist(vote),
            Persist(self.state),
            WriteLeaderChange(self.epoch, self.node_id, self.voters, self.epoch_start_offset),
            Flush(self.log_end_offset),
            BecameLeader(self.epoch, self.epoch_start_offset),
        ]

    def _append(self, event: Append) -> list[Effect]:
        assert self.leading, "only a leader appends"
        assert event.payloads, "an empty batch would have no offset"
        base_offset = self.log_end_offset
        self.log_end_offset += len(event.payloads)
        return [WriteBatch(self.epoch, base_offset, event.payloads), Flush(self.log_end_offset)]

    def _flushed(self, event: Flushed) -> list[Effect]:
        assert event.end_offset <= self.log_end_offset, f"flushed to {event.end_offset}, written to {self.log_end_offset}"
        self.flushed_offset = max(self.flushed_offset, event.end_offset)
        # A majority of one: what this disk has, the quorum has.
        if not self.leading or self.flushed_offset <= max(self.high_watermark, self.epoch_start_offset):
            return []
        self.high_watermark = self.flushed_offset
        return [Committed(self.high_watermark)]

    def _resign(self) -> list[Effect]:
        if not self.leading:
            return []
        self.leading = False
        return [Resigned(self.epoch)]
