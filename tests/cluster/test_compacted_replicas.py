"""A compacted topic on three brokers that are killed one after the other, where each compacts its
own log.
"""

from __future__ import annotations

import time
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.conformance.compaction.on_disk import is_cleaned, survivors
from tests.conformance.compaction.workload import CONFIG, QUIET, TRANSACTIONS, Written, live, read_back, write_stage
from tests.waiting import PATIENCE_SECONDS, until

PLAIN = "lz4"
STAGES = 6


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_every_replica_holds_the_same_table() -> None:
    with barnabas_cluster(properties={"log.cleaner.backoff.ms": "50"}) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, **QUIET})
        for done in admin.create_topics([NewTopic(topic, 1, 3, config=CONFIG) for topic in (PLAIN, TRANSACTIONS)]).values():
            done.result(PATIENCE_SECONDS)
        written, started_ms = Written(), int(time.time() * 1000)
        for stage in range(STAGES):
            write_stage(cluster.bootstrap, stage, written, started_ms, (PLAIN, TRANSACTIONS))
            node = cluster.brokers[stage % 3]
            node.kill()
            node.start()
            node.await_listening()
        write_stage(cluster.bootstrap, STAGES, written, started_ms, (PLAIN, TRANSACTIONS))
        for topic in (PLAIN, TRANSACTIONS):
            assert live({key: value for _, key, value in read_back(cluster.bootstrap, topic)}) == live(written.last[topic])
            for node in cluster.brokers:
                until(partial(is_cleaned, node.log_dirs[0], topic), f"node {node.id} has compacted {topic}")
        for node in cluster.brokers:
            records = [record for batch in survivors(node.log_dirs[0] / f"{PLAIN}-0") for record in batch.records]
            assert live({record.key: record.value for record in records}) == live(written.last[PLAIN])
