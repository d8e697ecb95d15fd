"""Why a goal may be missed on two cores, by the family of a row: shown for goals that were."""

from __future__ import annotations

from collections.abc import Mapping

_CLIENT_IS_THE_LIMIT = (
    "The client is the bottleneck with either server. "
    "The servers differ in their own processor time: the rows *server CPU* have it for each GB."
)

LIMITS: Mapping[str, str] = {
    "librdkafka produce": _CLIENT_IS_THE_LIMIT,
    "librdkafka consume": (
        "With values of 100 bytes the client is the bottleneck with either server. "
        "With 1 KB from six partitions both servers leave nearly all of the work to sendfile, and rounds differ by a factor of two. "
        "Send buffers of 512 KiB to 2 MiB instead of 256 KiB were tried: none gave more, or cost less beyond the noise."
    ),
    "Java produce": _CLIENT_IS_THE_LIMIT,
    "Java consume": _CLIENT_IS_THE_LIMIT,
    "small requests": (
        "A node is one thread, so a second core does not help it as it helps Apache Kafka. [Processes](processes.md) use more cores."
    ),
    "small fetches": (
        "A node is one thread, and the clients of the closed loop are on the same two cores: Apache Kafka uses what they leave of both. "
        "The rows *server CPU* have the cost of a request, which is lower with Barnabas."
    ),
    "share consume": (
        "Twenty consumers and the server share two cores, and rounds of one row differ by up to a factor of two. "
        "An application acknowledges what it gets: the rows *acked* have the rate at which the broker has confirmed that."
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
