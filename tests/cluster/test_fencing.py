"""A leader that was paused acknowledges nothing once another broker leads."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from barnabas.model.errors import ErrorCode
from peers.cluster import QUICK, Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.view import View, ready
from tests.scenarios.client import PRODUCE_BY_NAME, Client, HungUp, batch_of, produce_request
from tests.waiting import until

# The errors that a deposed leader may answer with. It may close the connection, too.
REFUSALS = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
}
ASKED_WHILE_AWAY = 20


def pause(cluster: Cluster, leader: int) -> Callable[[], None]:
    cluster.node(leader).pause()
    return cluster.node(leader).resume


def cut_off(cluster: Cluster, leader: int) -> Callable[[], None]:
    cluster.cut_off(leader)
    return cluster.heal


def acknowledged_offset(client: Client, request: object) -> int | None:
    """None when the request was refused."""
    try:
        _, answer = client.receive(request, PRODUCE_BY_NAME)
    except HungUp:
        return None
    told = answer.responses[0].partition_responses[0]
    if told.error_code:
        assert ErrorCode(told.error_code) in REFUSALS, told
        return None
    offset: int = told.base_offset
    return offset


@pytest.mark.parametrize("send_away", [pause, cut_off])
def test_a_leader_that_was_paused_or_cut_off_acknowledges_nothing_once_another_leads(
    send_away: Callable[[Cluster, int], Callable[[], None]],
) -> None:
    with barnabas_cluster(brokers=3, proxied=True, properties=QUICK) as cluster:
        view = ready(cluster)
        view.create_topic("t")
        leader = view.await_leader("t")
        request = produce_request("t", 0, batch_of([b"for the old one"]), acks=-1)
        with Client(cluster.node(leader).bootstrap) as old_client:
            assert old_client.ask(request, PRODUCE_BY_NAME).responses[0].partition_responses[0].error_code == 0
            come_back = send_away(cluster, leader)
            for _ in range(ASKED_WHILE_AWAY):
                old_client.send(request, PRODUCE_BY_NAME)
            new_leader = view.seen_without(leader).await_leader("t", other_than=leader)
            new_request = produce_request("t", 0, batch_of([b"for the new one"]), acks=-1)
            with Client(cluster.node(new_leader).bootstrap) as new_client:

                def accepted() -> bool:
                    told = new_client.ask(new_request, PRODUCE_BY_NAME).responses[0].partition_responses[0]
                    assert told.error_code == 0 or ErrorCode(told.error_code) in REFUSALS, told
                    return bool(told.error_code == 0)

                until(accepted, "the new leader acknowledges")
                come_back()
                told = [acknowledged_offset(old_client, request) for _ in range(ASKED_WHILE_AWAY)]
                assert told == [None] * ASKED_WHILE_AWAY
        view.await_in_sync("t")
        values = in_the_log(view, cluster)
        assert values[0] == b"for the old one"
        assert set(values[1:]) == {b"for the new one"}


def in_the_log(view: View, cluster: Cluster) -> list[bytes | None]:
    with Client(cluster.node(view.await_leader("t")).bootstrap) as client:
        return client.values("t")
