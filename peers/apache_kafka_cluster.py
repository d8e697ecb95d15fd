"""Apache Kafka 4.3 as nodes of a :class:`~peers.cluster.Cluster`.

It serves as a comparison, as an oracle, and in clusters mixed with Barnabas.

with apache_cluster(brokers=3) as cluster:
    cluster.bootstrap
"""

from __future__ import annotations

import base64
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.apache_kafka import java, run_tool
from peers.cluster import CLUSTER_ID, Cluster, Node, meta_properties

# Three brokers share a small machine, so each gets a quarter of the heap of
# bin/kafka-server-start.sh. Measurements use KAFKAS_HEAP.
SMALL_HEAP = ["-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Djava.awt.headless=true"]
# The options that bin/kafka-server-start.sh gives a broker.
KAFKAS_HEAP = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
]


# Kafka finalises these features by itself, and then registers no broker without them. Barnabas has
# no share or streams groups yet.
_WITHOUT = ["--feature", "share.version=0", "--feature", "streams.version=0"]


class ApacheKafka:
    name = "Apache Kafka"

    def __init__(self, options: Sequence[str] = SMALL_HEAP) -> None:
        self._options = list(options)

    def format(self, nodes: Sequence[Node]) -> None:
        """Kafka's own tool formats the first node. The others differ in two lines only, and a JVM
        for each would take seconds."""
        first, *others = nodes
        run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(first.properties_file), *_WITHOUT)
        for node in others:
            shutil.copytree(first.data, node.data)
            (node.data / "meta.properties").write_text(meta_properties(CLUSTER_ID, node.id, _random_uuid()))

    def command(self, properties: Path) -> list[str]:
        return java("kafka.Kafka", str(properties), options=self._options)


APACHE = ApacheKafka()


def apache_cluster(**options: Any) -> Cluster:
    return Cluster(APACHE, **options)


def _random_uuid() -> str:
    while True:
        text = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        # Kafka's own ids never begin with a dash, which command lines would take for an option.
        if re.match("[A-Za-z0-9_]", text):
            return text
