"""Incremental fetch sessions (KIP-227) as a client sees them. ``tests/unit/replication`` has the
rules one by one.
"""

from __future__ import annotations

from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.fetch import ForgottenTopic
from tests.scenarios.client import FETCH_BY_NAME, Client, fetch_request, records_in

BY_ID = 13


def fetch(client: Client, session_id: int, epoch: int, *partitions: tuple[str, int, int], forget: tuple[str, int] | None = None) -> Any:
    request = fetch_request(partitions, session_id=session_id, session_epoch=epoch)
    if forget is not None:
        request.forgotten_topics_data = [ForgottenTopic(topic=forget[0], partitions=[forget[1]])]
    return client.ask(request, FETCH_BY_NAME)


def mentioned(response: Any) -> dict[tuple[str, int], int]:
    """The partitions that a response names, and how many records it has of each."""
    return {(topic.topic, each.partition_index): len(records_in(each.records)) for topic in response.responses for each in topic.partitions}


def test_a_session_names_a_partition_only_when_it_changed(client: Client) -> None:
    client.create_topic("a")
    client.create_topic("b")
    full = fetch(client, 0, 0, ("a", 0, 0), ("b", 0, 0))
    session = full.session_id
    assert session != 0
    assert mentioned(full) == {("a", 0): 0, ("b", 0): 0}
    assert mentioned(fetch(client, session, 1)) == {}
    client.produce("b", [b"x", b"y"])
    assert mentioned(fetch(client, session, 2)) == {("b", 0): 2}
    # The client reports its new position, and the response names no partition.
    assert mentioned(fetch(client, session, 3, ("b", 0, 2))) == {}


def test_partitions_join_and_leave(client: Client) -> None:
    client.create_topic("a")
    client.create_topic("b")
    session = fetch(client, 0, 0, ("a", 0, 0)).session_id
    assert mentioned(fetch(client, session, 1, ("b", 0, 0))) == {("b", 0): 0}
    client.produce("a", [b"x"])
    client.produce("b", [b"x"])
    assert mentioned(fetch(client, session, 2, forget=("a", 0))) == {("b", 0): 1}


def test_a_wrong_epoch_or_an_unknown_session_sends_the_client_back(client: Client) -> None:
    client.create_topic("a")
    session = fetch(client, 0, 0, ("a", 0, 0)).session_id
    assert fetch(client, session, 7).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fetch(client, session ^ 1, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    # The session itself is unchanged.
    assert fetch(client, session, 1).error_code == 0


def test_the_final_epoch_closes_a_session(client: Client) -> None:
    client.create_topic("a")
    session = fetch(client, 0, 0, ("a", 0, 0)).session_id
    assert fetch(client, session, -1, ("a", 0, 0)).session_id == 0
    assert fetch(client, session, 1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_does_not_change_from_names_to_ids(client: Client) -> None:
    client.create_topic("a")
    session = fetch(client, 0, 0, ("a", 0, 0)).session_id
    response = client.ask(fetch_request([], session_id=session, session_epoch=1), BY_ID)
    assert response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_topic_deleted_and_made_again_is_news_and_then_readable(client: Client) -> None:
    client.create_topic("a")
    session = fetch(client, 0, 0, ("a", 0, 0)).session_id
    client.delete_topic("a")
    gone = fetch(client, session, 1)
    assert gone.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    client.create_topic("a")
    client.produce("a", [b"new"])
    assert mentioned(fetch(client, session, 2)) == {("a", 0): 1}


def test_without_room_for_a_session_fetches_still_work() -> None:
    with EmbeddedBroker(config={"max.incremental.fetch.session.cache.slots": "1"}) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("a")
        client.produce("a", [b"x"])
        assert fetch(client, 0, 0, ("a", 0, 0)).session_id != 0
        second = fetch(client, 0, 0, ("a", 0, 0))
        assert (second.session_id, mentioned(second)) == (0, {("a", 0): 1})


def test_a_busy_partition_does_not_starve_its_neighbours(client: Client) -> None:
    """With room for one batch an answer, each of three partitions has its turn."""
    client.create_topic("t", partitions=3)
    for partition in range(3):
        for _ in range(3):
            client.produce("t", [b"x" * 1000], partition=partition)
    request = fetch_request([("t", partition, 0) for partition in range(3)], max_bytes=1100, session_epoch=0)
    response = client.ask(request, FETCH_BY_NAME)
    session, served = response.session_id, []
    for epoch in range(1, 7):
        served += [partition for (_, partition), count in mentioned(response).items() if count]
        position = [("t", partition, served.count(partition)) for partition in {served[-1]}]
        response = client.ask(fetch_request(position, max_bytes=1100, session_id=session, session_epoch=epoch), FETCH_BY_NAME)
    assert sorted(served) == [0, 0, 1, 1, 2, 2]
