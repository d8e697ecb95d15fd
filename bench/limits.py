"""Why a goal may be missed on two cores, by the family of a row: shown for goals that were."""

from __future__ import annotations

from collections.abc import Mapping

_CLIENT_IS_THE_LIMIT = (
    "The client is the bottleneck with either server. "
    "The servers differ in their own processor time: the rows *server CPU* have it for each GB."
)

LIMITS: Mapping[str, str] = {
    "librdkafka produce": _CLIENT_IS_THE_LIMIT,
    "librdkafka consume": _CLIENT_IS_THE_LIMIT,
    "Java produce": _CLIENT_IS_THE_LIMIT,
    "Java consume": _CLIENT_IS_THE_LIMIT,
    "small requests": (
        "A node is one thread, so a second core does not help it as it helps Apache Kafka. [Processes](processes.md) use more cores."
    ),
    "start": "Most of it is Python importing modules.",
    "groups": (
        "Until a consumer or streams group is stable, its members wait for a heartbeat of 100 ms with either server; "
        "the rest is within the noise of a few milliseconds. "
        "After a death all members send a heartbeat at once, and Barnabas serves them in turn on one core, Apache Kafka on both. "
        "Barnabas computes only what changes of an assignment already; the rest is the time of fifty heartbeats."
    ),
    "produce with schema ids validated": (
        "To read the ids, the broker decompresses each batch; Apache Kafka has no such setting and leaves batches closed."
    ),
    "tiered consume": "Remote segments are read into memory, while local ones go from the page cache to the socket without a copy.",
}
