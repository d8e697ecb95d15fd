"""Warms a server up before anything counts: a JVM runs compiled code many times faster.

Each row also runs once without counting; this is the part that all of them share.
"""

from __future__ import annotations

from bench import programs
from bench.measurement import Effort
from bench.requests import await_group_coordinator
from bench.rows.variants import LARGE_VALUE_BYTES, Variant
from bench.systems import Server
from bench.topics import new_topic

_CONNECTIONS = 8


def warm_up(server: Server, effort: Effort) -> None:
    variant = Variant(LARGE_VALUE_BYTES, 6)
    with new_topic(server, variant.partitions) as topic:
        if programs.why_no_closed_loop() is None:
            programs.closed_loop(
                port=server.port, topic=topic, connections=_CONNECTIONS, partitions=variant.partitions, seconds=effort.warm_up_seconds
            )
            group = f"warming-up-with-{topic}"
            await_group_coordinator(server, group)
            programs.commit_loop(
                port=server.port,
                group=group,
                topic=topic,
                connections=_CONNECTIONS,
                partitions=variant.partitions,
                seconds=effort.warm_up_seconds,
            )
    with new_topic(server, variant.partitions) as topic:
        if programs.why_no_librdkafka_load() is None:
            for command in ("produce", "consume"):
                programs.librdkafka_load(
                    command,
                    bootstrap=server.bootstrap,
                    topic=topic,
                    partitions=variant.partitions,
                    value_bytes=variant.value_bytes,
                    records=variant.records(effort.megabytes_of_large_values),
                )
