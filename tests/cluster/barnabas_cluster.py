"""Barnabas as nodes of a :class:`~peers.cluster.Cluster`, started as its users start it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.apache_kafka_cluster import APACHE
from peers.cluster import CLUSTER_ID, START_SECONDS_MAX, Cluster, Node


class Barnabas:
    name = "Barnabas"

    def __init__(self, *, log_level: str = "INFO") -> None:
        self._log_level = log_level

    def format(self, nodes: Sequence[Node]) -> None:
        formatting = [
            subprocess.Popen(
                [sys.executable, "-m", "barnabas", "storage", "format", "-t", CLUSTER_ID, "-c", str(node.properties_file)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for node in nodes
        ]
        for each in formatting:
            said, _ = each.communicate(timeout=START_SECONDS_MAX)
            assert each.returncode == 0, said

    def command(self, properties: Path) -> list[str]:
        return [sys.executable, "-m", "barnabas", "server", "--no-environment", "--log-level", self._log_level, "--config", str(properties)]


BARNABAS = Barnabas()


def barnabas_cluster(**options: Any) -> Cluster:
    """With ``CLUSTER_OF=apache`` in the environment the nodes run Apache Kafka instead: a test that
    fails there too is wrong."""
    return Cluster(APACHE if os.environ.get("CLUSTER_OF") == "apache" else BARNABAS, **options)
