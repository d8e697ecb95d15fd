"""`barnabas mirror` as a process, killed in the middle: the target has all records of the source,
once and in order.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.pipelines.conftest import Broker
from tests.pipelines.exactly_once.pipeline_process import stop_in_order
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS, PATIENCE_SECONDS, until

pytestmark = pytest.mark.timeout(1800)
RECORDS_FOR_A_KILL = 3000
PARTITIONS = 2
BATCH = 500


def command(source: str, target: str, topic: str, checkpoint: str, *more: str) -> list[str]:
    where = ["--from", source, "--to", target, "--from-alias", "A", "--to-alias", "B", "--checkpoint", checkpoint]
    return [
        sys.executable,
        "-m",
        "barnabas",
        "mirror",
        *where,
        "--topics",
        topic,
        "--batch-records",
        str(BATCH),
        "--master",
        "local[2]",
        *more,
    ]


def copied(bootstrap: str, topic: str) -> int:
    """The number of offsets of the target so far, including markers and aborted records."""
    if topic not in AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=PATIENCE_SECONDS).topics:
        return 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "watching"})
    try:
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=PATIENCE_SECONDS)[1] for each in range(PARTITIONS))
    finally:
        consumer.close()


def kill_when(process: subprocess.Popen[str], target: str, topic: str, more_than: int) -> None:
    def is_copied() -> bool:
        assert process.poll() is None, process.communicate()
        return copied(target, topic) > more_than

    until(is_copied, f"more than {more_than} records are copied", seconds_max=LONG_PATIENCE_SECONDS)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.soak
@pytest.mark.parametrize("kills", [1, 8])
def test_a_mirror_that_is_killed_and_restarted_copies_everything_once(
    broker: Broker, other_broker: Broker, topics: Topics, there: Topics, tmp_path: Path, kills: int
) -> None:
    orders, records, chance = topics.create("orders", partitions=PARTITIONS), kills * RECORDS_FOR_A_KILL, random.Random(kills)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(records):
        producer.produce(orders, str(number).encode(), b"k", number % PARTITIONS, headers={"n": str(number).encode()})
    producer.flush(PATIENCE_SECONDS)
    run = command(broker.bootstrap, other_broker.bootstrap, orders, str(tmp_path / "checkpoints"))

    for _ in range(kills):
        process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True)
        so_far = copied(other_broker.bootstrap, f"A.{orders}")
        kill_when(process, other_broker.bootstrap, f"A.{orders}", so_far + chance.randrange(RECORDS_FOR_A_KILL // 3))
        assert len(there.read(f"A.{orders}")) < records, "it was killed too late to show anything"
    ended = subprocess.run([*run, "--once"], capture_output=True, text=True, cwd=tmp_path, timeout=LONG_PATIENCE_SECONDS, check=False)

    assert ended.returncode == 0, ended.stderr
    reports = [json.loads(line) for line in ended.stdout.splitlines()]
    assert reports[-1]["lag_total"] == 0
    source, target = topics.read(orders), there.read(f"A.{orders}")
    assert [(each.partition, each.key, each.value, each.timestamp_ms, each.headers) for each in target] == [
        (each.partition, each.key, each.value, each.timestamp_ms, each.headers) for each in source
    ]


@pytest.mark.soak
def test_sigterm_to_all_processes_ends_a_mirror_cleanly(broker: Broker, other_broker: Broker, topics: Topics, tmp_path: Path) -> None:
    orders = topics.create("orders", partitions=PARTITIONS)
    topics.send(orders, [{"n": each} for each in range(10)])
    # A file like this one broke Spark's workers when they imported from the working directory.
    (tmp_path / "grp.py").write_text("raise IndexError('list index out of range')")
    run = command(broker.bootstrap, other_broker.bootstrap, orders, str(tmp_path / "checkpoints"))
    stop_in_order([sys.executable, "-P", *run[1:]], tmp_path, LONG_PATIENCE_SECONDS, everything=True)
