"""SCRAM passwords change while clients work. Sessions are short, so clients and nodes authenticate
again and again, on connections that stay."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from peers.cluster import QUICK
from tests.cluster.access import Access, Login
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.chaos import PARTITIONS, TOPIC, Chaos, workers_for
from tests.cluster.checker import check
from tests.cluster.final_reads import read_to_the_end
from tests.cluster.history import History, Key, Outcome
from tests.cluster.secured import APP, SCRAM, set_scram_password
from tests.cluster.secured_cluster import secured_cluster
from tests.cluster.workers import IdempotentSender, working

# librdkafka authenticates again when nine tenths are over. A tenth must be long enough for a busy
# machine.
SESSION_SECONDS = 5.0
_ESTABLISHED = "01"


@pytest.mark.parametrize("rotations", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_clients_stay_connected_while_their_password_changes(rotations: int) -> None:
    history, keys = History(), [Key(TOPIC, partition) for partition in range(PARTITIONS)]
    made = barnabas_cluster(brokers=3, properties=QUICK)
    with secured_cluster(made, {"connections.max.reauth.ms": str(int(SESSION_SECONDS * 1000))}) as (cluster, view):
        view.create_topic(TOPIC, PARTITIONS)
        chaos = Chaos(cluster, view, history, keys, random.Random(1))
        workers = workers_for(view.access, history, keys, 1, IdempotentSender)
        login = replace(APP, mechanism=SCRAM)
        # Over all rotations: on a starved machine one of the brokers may lose its session, and then
        # its clients connect again for that reason.
        seen, kept = 0, 0
        with working(workers):
            for number in range(rotations):
                chaos.await_progress()
                before = connections({node.port for node in cluster.brokers})
                login = replace(login, password=f"password-{number}")
                set_scram_password(view.access, login.password)
                for worker in workers:
                    worker.use_password(login)
                # Each connection that is there afterwards has authenticated again: the broker
                # closes a connection whose session is over.
                time.sleep(SESSION_SECONDS + 1)
                chaos.await_progress()
                after = connections({node.port for node in cluster.brokers})
                seen, kept = seen + len(before), kept + len(before & after)
        assert kept > seen / 2, "most clients had to connect again"
        assert refused(view.access, APP), "the first password still works"
        assert view.security is not None
        view.security = replace(view.security, client=login)
        read_to_the_end(view.access, history, keys)
        check(history)
        assert not history.complaints, history.complaints[:5]
        assert history.done("send", Outcome.INFO) == 0, "a sender was told of an error"


def connections(ports: Collection[int]) -> set[tuple[str, str]]:
    """The local and remote addresses of this process's connections to these ports."""
    own = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            own.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {
        (row[1], row[2])
        for row in rows
        if row[3] == _ESTABLISHED and int(row[2].rpartition(":")[2], 16) in ports and f"socket:[{row[9]}]" in own
    }


def refused(access: Access, login: Login) -> bool:
    assert access.security is not None
    old = replace(access, security=replace(access.security, client=replace(login, mechanism=SCRAM)))
    errors: list[str | None] = []
    producer = Producer({**old.librdkafka, "log_level": 0, "error_cb": lambda error: errors.append(error.name())})
    try:
        producer.list_topics(timeout=5)
    except KafkaException:
        producer.poll(0)
        return "_AUTHENTICATION" in errors
    return False
