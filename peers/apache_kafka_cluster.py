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
from typing import IO, Any

from peers.apache_kafka import run_tool
from peers.cluster import CLUSTER_ID, Announce, Cluster, Node, RunningProcess, meta_properties, start_process
from peers.jvm import java, quick_options

# Three brokers share a small machine, so each gets a quarter of the heap of
# bin/kafka-server-start.sh.
HEAP = "256m"


class ApacheKafka:
    name = "Apache Kafka"

    def format(self, nodes: Sequence[Node]) -> None:
        """Kafka's own tool formats the first node. The others differ in two lines only, and a JVM
        for each would take seconds."""
        first, *others = nodes
        run_tool("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(first.properties_file))
        for node in others:
            shutil.copytree(first.data, node.data)
            (node.data / "meta.properties").write_text(meta_properties(CLUSTER_ID, node.id, _random_uuid()))

    def start(self, properties: Path, output: IO[bytes], announce: Announce) -> RunningProcess:
        return start_process(java("kafka.Kafka", str(properties), options=quick_options(HEAP)), output, announce)


APACHE = ApacheKafka()


def apache_cluster(**options: Any) -> Cluster:
    return Cluster(APACHE, **options)


def _random_uuid() -> str:
    while True:
        text = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        # Kafka's own ids never begin with a dash, which command lines would take for an option.
        if re.match("[A-Za-z0-9_]", text):
            return text
