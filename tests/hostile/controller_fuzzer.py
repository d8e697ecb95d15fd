"""Malformed and unexpected frames to the listener that controllers use among themselves and with
brokers.

Like :mod:`tests.hostile.fuzzer`, with a vocabulary of values that such requests carry: ids of
existing nodes, their epochs, their directories, existing snapshots. Many of these requests are
legal: a peer that reaches this listener may call elections, register brokers and unregister them
(there is no authentication yet, and Kafka is no different without it). So the node loses its
leadership again and again, and the test checks that it always regains it.

    python -m tests.hostile.controller_fuzzer --seed 7 --first 1234 --count 1
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from pathlib import Path

from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, ResponsePartitionData, TopicData
from peers.cluster import free_ports
from tests.hostile.fuzzer import TOPICS, Fuzzer, chunks
from tests.scenarios.client import Client
from tests.waiting import until

METADATA = "__cluster_metadata"
# Elections as fast as the disk allows, because the attack calls many.
QUICK_QUORUM = {
    "controller.quorum.election.timeout.ms": "50",
    "controller.quorum.election.backoff.max.ms": "20",
    "controller.quorum.fetch.timeout.ms": "100",
    "controller.quorum.request.timeout.ms": "200",
    "broker.heartbeat.interval.ms": "100",
    # A small log that snapshots replace often.
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    # Tests choose the age of their records.
    "log.retention.check.interval.ms": str(24 * 3_600_000),
}
_FRAMES_BETWEEN_LOOKS_AT_EPOCHS = 100
_EXTREMES_32 = (2**31 - 1, 2**31 - 2, -1, -(2**31), 2**24)
_EXTREMES_64 = (2**63 - 1, 2**63 - 2, -1, -(2**63), 2**40)


def controller_victim(data_dir: str | None = None) -> tuple[EmbeddedBroker, str]:
    """A node that is broker and controller, and the address of its controller listener."""
    (port,) = free_ports(1)
    listeners = f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"
    kafka = EmbeddedBroker(
        process=True,
        data_dir=data_dir,
        config={**QUICK_QUORUM, "listeners": listeners, "controller.quorum.voters": f"1@127.0.0.1:{port}"},
    )
    return kafka, f"127.0.0.1:{port}"


def quorum_of(door: str) -> ResponsePartitionData:
    topic = TopicData(topic_name=METADATA, partitions=[PartitionData(partition_index=0)])
    with Client(door) as client:
        found: ResponsePartitionData = client.ask(DescribeQuorumRequest(topics=[topic])).topics[0].partitions[0]
        return found


class ControllerFuzzer(Fuzzer):
    handlers = CONTROLLER_HANDLERS

    def __init__(self, kafka: EmbeddedBroker, door: str, seed: int, keys: tuple[ApiKey, ...] = tuple(CONTROLLER_HANDLERS)) -> None:
        super().__init__(kafka, seed, keys, door=door)

    def run(self, first: int, count: int) -> None:
        for start, some in chunks(first, count, _FRAMES_BETWEEN_LOOKS_AT_EPOCHS):
            self._learn()
            super().run(start, some)

    def _restock(self) -> None:
        """A valid request may just have removed the node from the cluster. Its next heartbeat
        brings it back."""
        restock = super()._restock

        def restocked() -> bool:
            restock()
            return True

        until(restocked, "the node is back in the cluster", retry_on=AssertionError)

    def _learn(self) -> None:
        """The values that a peer would know. None of them is secret on this listener."""
        data = Path(self._kafka.data_dir)
        properties = dict(line.split("=", 1) for line in (data / "meta.properties").read_text().splitlines() if "=" in line)
        quorum = quorum_of(self._door)
        epoch, end = quorum.leader_epoch, quorum.high_watermark
        snapshots = [re.fullmatch(r"(\d+)-(\d+)\.checkpoint", each.name) for each in (data / f"{METADATA}-0").iterdir()]
        ends = [(int(found[1]), int(found[2])) for found in snapshots if found is not None]
        nodes = (1, 1, 1, 2, 3, 0, *_EXTREMES_32)
        epochs = (epoch, epoch, epoch, epoch + 1, epoch + 1, epoch - 1, *_EXTREMES_32)
        offsets = (0, 1, end, end - 1, end + 1, *_EXTREMES_64)
        # The epoch of a broker is the offset of its registration: small, and so easily guessed.
        broker_epochs = (*range(4, 14), -1, 2**63 - 1)
        self._words.single = frozenset({"topics", "partitions"})
        self._words.likely = {
            "cluster_id": (properties["cluster.id"],) * 8 + ("another", ""),
            "topic_name": (METADATA,) * 8 + TOPICS,
            "topic": (METADATA, METADATA, *TOPICS),
            "name": (METADATA, METADATA, "CONTROLLER", "CONTROLLER", "PLAINTEXT", "metadata.version", *TOPICS),
            "partition_index": (0, 0, 0, 0, 1, -1, 2**31 - 1),
            "partition": (0, 0, 0, 0, 1, -1, 2**31 - 1),
            "host": ("127.0.0.1", "127.0.0.1", "", "nul\x00", "x" * 70, "x" * 300, "\N{SNOWMAN}" * 80, "256.1.1.1", "::1%9"),
            "port": (1, 1, 9, 0, 65535),
            **dict.fromkeys(("voter_id", "replica_id", "leader_id", "broker_id", "candidate_id", "controller_id"), nodes),
            **dict.fromkeys(("replica_epoch", "leader_epoch", "current_leader_epoch", "last_fetched_epoch", "last_offset_epoch"), epochs),
            **dict.fromkeys(("fetch_offset", "last_offset", "log_start_offset", "high_watermark", "current_metadata_offset"), offsets),
            **dict.fromkeys(("broker_epoch", "previous_broker_epoch"), broker_epochs),
            "epoch": tuple(each[1] for each in ends) or epochs,
            "end_offset": tuple(each[0] for each in ends) or offsets,
            "position": (0, 0, 100, *_EXTREMES_64),
            "max_bytes": (1_000, 1_000_000, 0, -1, 2**31 - 1),
            **dict.fromkeys(("voter_directory_id", "replica_directory_id", "candidate_directory_id"), (bytes(16), bytes(15) + b"\x07")),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Send malformed frames to the controller of a live node.")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--api", help="only this API, by Kafka's name of it")
    given = parser.parse_args()
    keys = tuple(key for key in CONTROLLER_HANDLERS if given.api in (None, key.api_name))
    kafka, door = controller_victim()
    with kafka:
        fuzzer = ControllerFuzzer(kafka, door, given.seed, keys)
        for first, count in chunks(given.first, given.count, 1000):
            fuzzer.run(first, count)
            sys.stderr.write(f"seed {given.seed}, {first + count} frames: {dict(fuzzer.outcomes)}\n")


if __name__ == "__main__":
    main()
