"""Why a goal may be missed on two cores, by the family of a row: shown for goals that were."""

from __future__ import annotations

from collections.abc import Mapping

_CLIENT_IS_THE_LIMIT = (
    "The client needs a whole core for itself with either server, and two cores are all there are, so the client's speed is measured. "
    "The servers differ in their own processor time: the row *server CPU* has it for each GB."
)

LIMITS: Mapping[str, str] = {
    "librdkafka produce": _CLIENT_IS_THE_LIMIT,
    "librdkafka consume": _CLIENT_IS_THE_LIMIT,
    "Java produce": _CLIENT_IS_THE_LIMIT,
    "Java consume": _CLIENT_IS_THE_LIMIT,
    "small requests": (
        "The program that sends the requests needs as much processor time as the server, and both share two cores. "
        "Barnabas needs half of Apache Kafka's processor time for a request, but one process has one thread for all of them; "
        "Apache Kafka takes both cores when there are many connections. "
        "[Processes](processes.md) are the way to more cores."
    ),
    "start": "Most of it is Python importing modules on one core; the JVM of Apache Kafka starts on both.",
    "groups": (
        "The benchmark turns the assignment interval off, so every join and every death computes an assignment of all partitions. "
        "With the default interval of a second the computation is a small part of the time that a group takes."
    ),
    "tiered consume": "Remote segments are read into memory, while local ones go from the page cache to the socket without a copy.",
}
