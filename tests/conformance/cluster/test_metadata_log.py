"""Kafka reads the metadata logs of our nodes, and finds the same records in all of them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from peers.apache_kafka import java_program, why_missing
from peers.cluster import Cluster
from tests.cluster.view import View
from tests.conformance.clients.kafka_tools import Tools
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

DUMP = "org.apache.kafka.tools.DumpLogSegments"
SHELL = Path(__file__).with_name("MetadataShell.java")
METADATA = "__cluster_metadata-0"
SEGMENT = "00000000000000000000.log"


def test_kafkas_dump_shows_the_same_records_on_every_voter(tools: Tools, cluster: Cluster, view: View) -> None:
    view.create_topic("dumped", 3)
    active = view.await_controller()

    def alike() -> bool:
        written = {(node.data / METADATA / SEGMENT).read_bytes() for node in cluster.controllers}
        return len(written) == 1

    until(alike, "the voters' logs are the same bytes")
    segment = cluster.node(active).data / METADATA / SEGMENT
    dumped = tools.run(DUMP, "--cluster-metadata-decoder", "--files", segment)
    assert "isvalid: false" not in dumped.lower()
    types = set(re.findall(r'"type":"([A-Z_]+)"', dumped))
    assert {"REGISTER_BROKER_RECORD", "TOPIC_RECORD", "PARTITION_RECORD", "FEATURE_LEVEL_RECORD", "REGISTER_CONTROLLER_RECORD"} <= types
    assert "LeaderChange" in dumped
    assert "dumped" in dumped


def test_kafkas_metadata_shell_understands_our_log(cluster: Cluster, view: View) -> None:
    view.create_topic("understood", assignments={0: [1, 2, 3], 1: [3, 1, 2]})
    active = view.await_controller()
    seen = shown(cluster.node(active).data / METADATA / SEGMENT)
    assert "replicas=[1, 2, 3]" in seen["topics"]["understood"]["0"]
    assert "leader=3" in seen["topics"]["understood"]["1"]
    assert set(map(int, seen["brokers"])) >= {1, 2, 3}
    assert set(map(int, seen["controllers"])) == {1, 2, 3}
    assert seen["metadata.version"] == "4.3-IV0"


def shown(segment: Path) -> Any:
    done = subprocess.run(java_program(SHELL, str(segment)), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
