"""The clusters that a record came through, under the identity policy: one header for each, with the
cluster's id.

A mirror to a cluster among them leaves the record out, so that A -> B and B -> A can run at once,
and A -> B -> C -> A too.
"""

from __future__ import annotations

from collections.abc import Sequence

HEADER = "barnabas.mirror.from"
Headers = Sequence[tuple[str, bytes | None]]


def came_through(headers: Headers, cluster_id: str) -> bool:
    been = cluster_id.encode()
    return any(name == HEADER and value == been for name, value in headers)


def coming_from(headers: Headers, cluster_id: str) -> list[tuple[str, bytes | None]]:
    return [*headers, (HEADER, cluster_id.encode())]
