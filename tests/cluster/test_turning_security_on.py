"""A cluster under load goes from PLAINTEXT to SASL_SSL with ACLs, in three rolling restarts.

The recipe is docs/turning_security_on.md.
"""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Producer

from peers.cluster import QUICK
from tests.cluster.access import Access
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.chaos import MEMBER, PARTITIONS, TOPIC, Chaos, replicas_agree
from tests.cluster.checker import check
from tests.cluster.history import History, Key
from tests.cluster.secured import STRANGER, Securing, allow_app
from tests.cluster.view import ready
from tests.cluster.workers import AssignedReader, GroupReader, IdempotentSender, Worker, read_to_the_end, working


def clients(name: str, access: Access, history: History, keys: list[Key]) -> list[Worker]:
    return [
        IdempotentSender(f"sender-{name}", access, history, keys),
        AssignedReader(f"reader-{name}", access, history, keys),
        GroupReader(f"{MEMBER}-{name}-1", access, history, keys),
        GroupReader(f"{MEMBER}-{name}-2", access, history, keys),
    ]


@pytest.mark.parametrize("controllers", [0, pytest.param(3, marks=pytest.mark.soak)], ids=["combined", "separate controllers"])
def test_a_plaintext_cluster_becomes_a_secured_one_under_load(tmp_path: Path, controllers: int) -> None:
    history, keys = History(), [Key(TOPIC, partition) for partition in range(PARTITIONS)]
    with barnabas_cluster(brokers=3, controllers=controllers, properties=QUICK) as cluster:
        view = ready(cluster)
        view.create_topic(TOPIC, PARTITIONS)
        securing = Securing(cluster, tmp_path)
        chaos = Chaos(cluster, view, history, keys, random.Random(1))
        with ExitStack() as moved:
            with working(clients("plaintext", view.access, history, keys)):
                chaos.restart_all(securing.add_secure_listeners)
                chaos.restart_all(securing.move_nodes_over)
                securing.move_tests_over()
                view.security = securing.security
                moved.enter_context(working(clients("secured", view.access, history, keys)))
                chaos.await_progress()
            # An ACL of a topic ends what others may do with it, so clients move first.
            allow_app(view.access)
            chaos.restart_all(securing.remove_plaintext)
            chaos.await_progress()
        read_to_the_end(view.access, history, keys)
        check(history)
        assert not history.complaints, history.complaints[:5]
        replicas_agree(cluster, view, keys)
        stranger = replace(view.access, security=replace(securing.security, client=STRANGER))
        assert error_of_a_send(stranger) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def error_of_a_send(access: Access) -> int | None:
    errors: list[int | None] = []
    producer = Producer({**access.librdkafka, "log_level": 0})
    producer.produce(TOPIC, b"0", on_delivery=lambda error, _: errors.append(error.code() if error is not None else None))
    producer.flush()
    return errors[0]
