"""An internal topic as its coordinator uses it: committed records stay, and a node that cannot
append is not the coordinator.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from barnabas.coordinators.topic_log import CoordinatorTopicLog
from barnabas.env.clock import SystemClock
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.replication.local_replicas import LocalReplicas


def log_over(replica: SimpleNamespace | None) -> CoordinatorTopicLog:
    replicas = cast(LocalReplicas, SimpleNamespace(get=lambda topic, partition: replica))
    return CoordinatorTopicLog("__consumer_offsets", replicas, SystemClock())


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (ErrorCode.NONE, ErrorCode.NONE),
        # All in-sync replicas have the record, so it stays even if the ISR shrinks.
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.NONE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_an_answer_waits_until_its_records_are_replicated(code: ErrorCode, told: ErrorCode) -> None:
    replicated: Promise[ErrorCode] = Promise()
    waiting = log_over(SimpleNamespace(replicated=lambda end_offset: replicated)).replicated(0, 5)
    assert not waiting.done
    replicated.resolve(code)
    assert waiting.value == told


def test_a_broker_without_a_replica_is_no_coordinator() -> None:
    log = log_over(None)
    assert log.append(0, bytearray()) is ErrorCode.NOT_COORDINATOR
    assert log.replicated(0, 1).value is ErrorCode.NOT_COORDINATOR
