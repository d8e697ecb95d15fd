"""Names of Prometheus for the names of clients.

Dots become underscores, as OpenTelemetry's collector writes them:
``org.apache.kafka.producer.record.send.total`` is ``org_apache_kafka_producer_record_send_total``.
A name that does not begin with Kafka's prefix gets ``client_`` in front, so that no client can
write a metric of the broker.
"""

from __future__ import annotations

import re
from functools import lru_cache

KAFKA_PREFIX = "org_apache_kafka_"
OTHER_PREFIX = "client_"
COUNTER_SUFFIX = "_total"

_NAMES_KEPT = 4096
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")


@lru_cache(maxsize=_NAMES_KEPT)
def family_name(name: str, *, counts: bool) -> str:
    """Without ``_total``, which counters get on the page. A gauge keeps it as ``_total_value``:
    under the same name it would be taken for the counter."""
    made = _NOT_IN_NAMES.sub("_", name)
    if not made.startswith(KAFKA_PREFIX):
        made = OTHER_PREFIX + made
    if counts:
        return made.removesuffix(COUNTER_SUFFIX)
    return f"{made}_value" if made.endswith(COUNTER_SUFFIX) else made


@lru_cache(maxsize=_NAMES_KEPT)
def label_name(name: str) -> str:
    """Names with two underscores in front belong to Prometheus itself."""
    made = _NOT_IN_NAMES.sub("_", name).lstrip("_")
    return f"label_{made}" if not made or made[0].isdigit() else made
