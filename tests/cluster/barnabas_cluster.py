"""Barnabas as nodes of a :class:`~peers.cluster.Cluster`, formatted and started by the commands
that users give."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from peers.apache_kafka_cluster import APACHE
from peers.cluster import CLUSTER_ID, Announce, Cluster, Node, RunningProcess, start_process
from tests.cli.running import Cli
from tests.cluster.forked_command import ForkedCommand

# Elsewhere a fork could outlive the test run.
_FORKED = sys.platform == "linux"


class Barnabas:
    name = "Barnabas"

    def __init__(self, *, log_level: str = "INFO") -> None:
        self._log_level = log_level

    def format(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            Cli()("storage", "format", "-t", CLUSTER_ID, "-c", node.properties_file).worked()

    def start(self, properties: Path, output: IO[bytes], announce: Announce) -> RunningProcess:
        words = ["server", "--no-environment", "--log-level", self._log_level, "--config", str(properties)]
        if _FORKED:
            return ForkedCommand(words, output, announce)
        return start_process([sys.executable, "-m", "barnabas", *words], output, announce)


BARNABAS = Barnabas()


def barnabas_cluster(**options: Any) -> Cluster:
    """With ``CLUSTER_OF=apache`` in the environment the nodes run Apache Kafka instead: a test that
    fails there too is wrong."""
    return Cluster(APACHE if os.environ.get("CLUSTER_OF") == "apache" else BARNABAS, **options)
