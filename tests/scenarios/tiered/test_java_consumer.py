"""Apache Kafka's own consumer and tools read a topic that is mostly remote."""

from __future__ import annotations

from pathlib import Path

import pytest

from peers.apache_kafka import run_tool, why_missing
from tests.scenarios.client import Client
from tests.scenarios.tiered.tiered_broker import (
    EARLIEST_LOCAL,
    LATEST_TIERED,
    RECORDS_PER_SEGMENT,
    TIERED,
    fill,
    tiered_broker,
    wait_until_tiered,
)

SEGMENTS = 6


@pytest.mark.soak
@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
def test_the_java_tools_read_the_topic_from_the_beginning_and_print_its_offsets(tmp_path: Path) -> None:
    with tiered_broker(tmp_path) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t", 1, TIERED)
        total = fill(client, "t", SEGMENTS)
        wait_until_tiered(client, "t", 3 * RECORDS_PER_SEGMENT)
        arguments = ["--bootstrap-server", kafka.bootstrap, "--topic", "t"]
        for isolation in ("read_uncommitted", "read_committed"):
            printed = run_tool(
                "org.apache.kafka.tools.consumer.ConsoleConsumer",
                *arguments,
                "--from-beginning",
                "--max-messages",
                str(total),
                "--isolation-level",
                isolation,
            )
            assert [int(line[:8]) for line in printed.splitlines() if line] == list(range(total))
        for timestamp in (EARLIEST_LOCAL, LATEST_TIERED):
            printed = run_tool("org.apache.kafka.tools.GetOffsetShell", *arguments, "--time", str(timestamp))
            assert printed.strip() == f"t:0:{client.end_offset('t', timestamp=timestamp)}"
