"""A share group whose coordinator is away for longer than the retries last."""

from __future__ import annotations

import pytest

from barnabas.coordinators import share_persister
from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from tests.hostile.share_member import ShareMember
from tests.scenarios.client import Client
from tests.waiting import until

# A topic with three replicas cannot be created by one broker, so there is no share coordinator.
WITHOUT_COORDINATOR = {"share.coordinator.state.topic.replication.factor": "3", "share.coordinator.state.topic.min.isr": "1"}
CALL_MS_MAX = 200


def test_a_state_that_cannot_be_read_is_an_error_after_which_clients_ask_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_persister, "CALL_MS_MAX", CALL_MS_MAX)
    with EmbeddedBroker(config=WITHOUT_COORDINATOR) as broker, Client(broker.bootstrap) as client:
        topic_id = client.create_topic("queue")
        member = ShareMember(client, "workers", "queue", topic_id)
        codes: list[int] = []

        def failed() -> bool:
            codes.extend(partition.error_code for topic in member.fetch(wait_ms=500).responses for partition in topic.partitions)
            return any(codes)

        until(failed, "the state cannot be read", seen=lambda: codes)
        assert set(codes) - {ErrorCode.NONE} == {ErrorCode.REPLICA_NOT_AVAILABLE}
