"""Replicas on a simulated disk."""

from __future__ import annotations

from itertools import count
from random import Random

from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.topic_counters import TopicCounters
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.telemetry.metrics import Metrics

NOW_MS = 1_700_000_000_000
ME = 1
TOPIC_ID = Uuid(b"t" * 16)


# Every image is newer than the one made before it, as the metadata's are.
_partition_epochs = count()


def led_by(leader: int, *, epoch: int = 0, replicas: tuple[int, ...] = (ME,), isr: tuple[int, ...] | None = None) -> PartitionImage:
    return PartitionImage(replicas, replicas if isr is None else isr, leader, leader_epoch=epoch, partition_epoch=next(_partition_epochs))


class World:
    """One node's directories and replicas, without the node."""

    def __init__(self, *, directories: int = 1) -> None:
        self.disk = SimulatedDisk(Random(0))
        self.metrics = Metrics()
        self.failures: list[tuple[str, str]] = []
        paths = [f"/d{number}" for number in range(directories)]
        for path in paths:
            self.disk.make_directory(path)
        self.directories = [LogDirectory(self.disk, path, Uuid(path.encode().ljust(16, b"."))) for path in paths]
        self.replicas = LocalReplicas(self.directories, lambda directory, error: self.failures.append((directory.path, str(error))))

    def partition(
        self,
        topic: str = "t",
        index: int = 0,
        *,
        image: PartitionImage | None = None,
        settings: LogSettings | None = None,
        directory: int = 0,
        topic_id: Uuid = TOPIC_ID,
        cluster_view: ClusterView | None = None,
    ) -> Partition:
        """A new replica that this node leads unless ``image`` says otherwise."""
        home = self.directories[directory]
        name = TopicPartition(topic, index)
        log = home.create(name, topic_id, settings or LogSettings(), now_ms=NOW_MS)
        home.add(log)
        made = Partition(
            name,
            topic_id,
            log,
            home,
            node_id=ME,
            high_watermark=0,
            counters=TopicCounters(self.metrics, topic),
            cluster_view=cluster_view,
        )
        made.follow_metadata(image or led_by(ME))
        self.replicas.add(made)
        return made
