"""Topics that exist for one measurement, or for one session."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench.systems import Server

ADMIN_SECONDS_MAX = 30.0
_numbers = itertools.count(1)


@contextmanager
def new_topic(server: Server, partitions: int, config: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yields its name. The topic is deleted when the context ends, so that the data never fills the
    disk or the page cache."""
    name = f"bench-{next(_numbers)}"
    # Make a client for each call: one that stayed would wake up now and then, and log errors when
    # its server ends.
    settings: dict[str, Any] = {"bootstrap.servers": server.bootstrap, "log_level": 0, **server.client}
    creator = AdminClient(settings)
    creator.create_topics([NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(config or {}))])[name].result(
        ADMIN_SECONDS_MAX
    )
    del creator
    try:
        yield name
    finally:
        remover = AdminClient(settings)
        remover.delete_topics([name], operation_timeout=ADMIN_SECONDS_MAX)[name].result(ADMIN_SECONDS_MAX)
        del remover
