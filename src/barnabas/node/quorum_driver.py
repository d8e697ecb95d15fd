"""Performs what the quorum's state machine asks for, and hands committed batches on.

Flushes run on a worker thread, one at a time; batches appended meanwhile share the next one. Everything else happens on the loop's
thread. A disk that fails under the metadata log ends the node: there is nothing left to stand on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor

from barnabas.api.broker import QuorumReplica, QuorumStatus
from barnabas.env.clock import Clock
from barnabas.model.ids import NodeId
from barnabas.node.background import sync_in_background
from barnabas.node.metadata_log import MetadataLog
from barnabas.raft.effects import BecameLeader, Committed, Effect, Flush, Persist, Resigned, WriteBatch, WriteLeaderChange
from barnabas.raft.events import Append, Event, Flushed, Started, Stop
from barnabas.raft.node import QuorumNode
from barnabas.wire.metadata_records import MetadataRecord, encode_metadata_record


class QuorumDriver:
    def __init__(
        self,
        core: QuorumNode,
        log: MetadataLog,
        clock: Clock,
        executor: Executor,
        *,
        on_committed: Callable[[int], None],
        on_leader: Callable[[int], None],
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._core = core
        self._log = log
        self._clock = clock
        self._executor = executor
        self._on_committed = on_committed
        self._on_leader = on_leader
        self._on_fatal = on_fatal
        self._flushing = False
        self._flush_wanted = 0
        self._halted = False

    def start(self) -> None:
        self._step(Started(self._log.end_offset))

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """Put one atomic batch into the log; the offset behind it. It counts once :meth:`on_committed` has passed that offset."""
        self._step(Append(tuple(encode_metadata_record(record) for record in records)))
        return self._core.log_end_offset

    def stop(self) -> None:
        self._step(Stop())

    @property
    def end_offset(self) -> int:
        return self._core.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self._core.high_watermark

    @property
    def leading(self) -> bool:
        return self._core.leading

    @property
    def epoch(self) -> int:
        return self._core.epoch

    def status(self) -> QuorumStatus:
        now_ms = self._clock.wall_ms()
        leader = QuorumReplica(self._core.node_id, self._core.log_end_offset, now_ms, now_ms)
        return QuorumStatus(
            leader_id=self._core.state.leader_id,
            leader_epoch=self._core.epoch,
            high_watermark=self._core.high_watermark,
            voters=(leader,),
            observers=(),
        )

    def _step(self, event: Event) -> None:
        """An effect that fails ends the node, since the core believes that it happened: whoever waits for it waits for the end."""
        if self._halted:
            return
        try:
            for effect in self._core.step(event, self._clock.wall_ms()):
                self._perform(effect)
        except OSError as failure:
            self._halt(failure)

    def _halt(self, failure: BaseException) -> None:
        self._halted = True
        self._on_fatal(failure)

    def _perform(self, effect: Effect) -> None:
        now_ms = self._clock.wall_ms()
        match effect:
            case Persist(state):
                self._log.write_quorum_state(state, [NodeId(voter) for voter in self._core.voters])
            case WriteLeaderChange(epoch, leader, voters, base_offset):
                assert base_offset == self._log.end_offset
                self._log.write_leader_change(leader, voters, epoch=epoch, now_ms=now_ms)
            case WriteBatch(epoch, base_offset, payloads):
                assert base_offset == self._log.end_offset
                self._log.write_batch(payloads, epoch=epoch, now_ms=now_ms)
            case Flush(end_offset):
                self._flush_wanted = max(self._flush_wanted, end_offset)
                self._flush()
            case BecameLeader(_, epoch_start_offset):
                self._on_leader(epoch_start_offset)
            case Committed(high_watermark):
                self._on_committed(high_watermark)
            case Resigned():
                pass

    def _flush(self) -> None:
        if self._flushing:
            return
        self._flushing = True
        end_offset, segments = self._log.flushable()
        flush = sync_in_background(self._executor, segments)
        flush.add_done_callback(lambda done: self._flushed(done, end_offset))

    def _flushed(self, done: asyncio.Future[None], end_offset: int) -> None:
        self._flushing = False
        if done.cancelled():
            return
        failure = done.exception()
        if failure is not None:
            self._halt(failure)
            return
        self._log.flushed(end_offset)
        self._step(Flushed(end_offset))
        if end_offset < self._flush_wanted and self._core.leading:
            self._flush()
