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

from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from peers.cluster import QUICK
from tests.cluster.access import Access
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.chaos import MEMBER, PARTITIONS, TOPIC, Chaos, replicas_agree
from tests.cluster.checker import check
from tests.cluster.final_reads import read_to_the_end
from tests.cluster.history import History, Key
from tests.cluster.secured import CONTROLLER_SECURE, STRANGER, Securing, allow_app
from tests.cluster.view import View, ready
from tests.cluster.workers import AssignedReader, GroupReader, IdempotentSender, Worker, working
from tests.waiting import until

UPGRADE = 1


def clients(name: str, access: Access, history: History, keys: list[Key]) -> list[Worker]:
    return [
        IdempotentSender(f"sender-{name}", access.librdkafka, history, keys),
        AssignedReader(f"reader-{name}", access.librdkafka, history, keys),
        GroupReader(f"{MEMBER}-{name}-1", access.librdkafka, history, keys),
        GroupReader(f"{MEMBER}-{name}-2", access.librdkafka, history, keys),
    ]


CLUSTERS = [
    pytest.param(0, False, id="combined roles"),
    pytest.param(3, False, id="separate controllers", marks=pytest.mark.soak),
    pytest.param(0, True, id="voters in the log", marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("controllers", "dynamic_voters"), CLUSTERS)
def test_a_plaintext_cluster_becomes_a_secured_one_under_load(tmp_path: Path, controllers: int, dynamic_voters: bool) -> None:
    history, keys = History(), [Key(TOPIC, partition) for partition in range(PARTITIONS)]
    with barnabas_cluster(brokers=3, controllers=controllers, properties=QUICK) as cluster:
        view = ready(cluster)
        if dynamic_voters:
            put_voters_into_the_log(view)
        view.create_topic(TOPIC, PARTITIONS)
        securing = Securing(cluster, tmp_path, dynamic_voters=dynamic_voters)
        chaos = Chaos(cluster, view, history, keys, random.Random(1))
        with ExitStack() as moved:
            with working(clients("plaintext", view.access, history, keys)):
                chaos.restart_all(securing.add_secure_listeners)
                if dynamic_voters:
                    await_voters(view, {"CONTROLLER", CONTROLLER_SECURE})
                chaos.restart_all(securing.move_nodes_over)
                securing.move_tests_over()
                view.security = securing.security
                moved.enter_context(working(clients("secured", view.access, history, keys)))
                chaos.await_progress()
            # An ACL of a topic ends what others may do with it, so clients move first.
            allow_app(view.access)
            chaos.restart_all(securing.remove_plaintext)
            chaos.await_progress()
            await_voters(view, {CONTROLLER_SECURE})
        read_to_the_end(view.access, history, keys)
        check(history)
        assert not history.complaints, history.complaints[:5]
        replicas_agree(cluster, view, keys)
        stranger = replace(view.access, security=replace(securing.security, client=STRANGER))
        assert error_of_a_send(stranger) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def put_voters_into_the_log(view: View) -> None:
    """As ``kafka-features.sh upgrade --feature kraft.version=1`` does it."""
    update = FeatureUpdateKey(feature="kraft.version", max_version_level=1, upgrade_type=UPGRADE)
    request = UpdateFeaturesRequest(feature_updates=[update], validate_only=False)

    def upgraded() -> bool:
        answer = view.ask(request)
        return answer is not None and answer.error_code == 0

    # Until all voters have reported their directories the request is refused.
    until(upgraded, "kraft.version is 1")


def await_voters(view: View, listeners: set[str]) -> None:
    def known() -> bool:
        found = view.listeners_of_voters()
        return len(found) == len(view.cluster.controllers) and all(each == listeners for each in found.values())

    until(known, f"every voter is known with {listeners}", seen=view.listeners_of_voters)


def error_of_a_send(access: Access) -> int | None:
    errors: list[int | None] = []
    producer = Producer({**access.librdkafka, "log_level": 0})
    producer.produce(TOPIC, b"0", on_delivery=lambda error, _: errors.append(error.code() if error is not None else None))
    producer.flush()
    return errors[0]
