"""Which partitions to read, and which offsets of them.

An argument that begins with ``^`` is a pattern, as in librdkafka; no name of a topic does. It
matches from the start of a name, and internal topics only if it begins with ``^__``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from barnabas.cli.cluster.client import ANSWER_SECONDS_MAX, Cluster
from barnabas.cli.consume.span import AtOffset, LogEnds, Range, Span, resolve, times_of
from barnabas.cli.errors import Refused
from barnabas.model.pattern import matcher

_INTERNAL = "__"
_PATTERN_CHARACTERS = frozenset("*+?[]()|\\$")


class Partition(NamedTuple):
    topic: str
    number: int


def is_pattern(argument: str) -> bool:
    return argument.startswith("^")


def check_patterns(arguments: Iterable[str]) -> None:
    for each in arguments:
        if not each:
            raise Refused("The name of a topic cannot be empty.")
        if is_pattern(each) and isinstance(problem := matcher(each), str):
            raise Refused(f"The pattern {each} is invalid: {problem}.")
        if not is_pattern(each) and _PATTERN_CHARACTERS & set(each):
            raise Refused(f"No topic can have the name {each}; a pattern begins with ^, as in '^{each}'.")


def matching_topics(arguments: Iterable[str], existing: Collection[str]) -> list[str]:
    """The named topics, whether or not they exist, and those that patterns match."""
    found: dict[str, None] = {}
    for each in arguments:
        if not is_pattern(each):
            found[each] = None
            continue
        matches = matcher(f"(?:{each}).*")
        assert not isinstance(matches, str), matches
        internal = each.startswith(f"^{_INTERNAL}")
        found |= dict.fromkeys(name for name in sorted(existing) if matches(name) and (internal or not name.startswith(_INTERNAL)))
    return list(found)


def choose_topics(cluster: Cluster, arguments: list[str]) -> list[str]:
    """Raises ``Refused`` when a pattern is invalid or no topic matches."""
    check_patterns(arguments)
    if not any(map(is_pattern, arguments)):
        return matching_topics(arguments, ())
    admin = cluster.admin()
    try:
        existing = admin.client.list_topics(timeout=ANSWER_SECONDS_MAX).topics
    except KafkaException as error:
        raise admin.refusal(error, "Cannot list topics") from error
    if found := matching_topics(arguments, existing):
        return found
    raise Refused(f"No topic matches {' or '.join(arguments)}.")


def choose_partitions(cluster: Cluster, topic: str, wanted: Collection[int] = ()) -> list[int]:
    return [each.number for each in partitions_of(cluster, [topic], wanted)]


def partitions_of(cluster: Cluster, topics: list[str], wanted: Collection[int]) -> list[Partition]:
    """Raises ``Refused`` when a topic does not exist or lacks a wanted partition."""
    described = cluster.admin().describe_topics(topics)
    chosen = []
    for topic in topics:
        found = sorted(each.id for each in described[topic].partitions)
        for each in wanted:
            if each not in found:
                raise Refused(f"Topic {topic} has no partition {each}; it has {len(found)}.")
        chosen += [Partition(topic, each) for each in (sorted(set(wanted)) or found)]
    return chosen


def ends_of(consumer: Consumer, topic: str, partition: int) -> LogEnds:
    """The ends of a partition as numbers. Given librdkafka's symbolic offsets instead, a consumer
    first asks a leader that it does not know yet, and then waits for half a second."""
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ANSWER_SECONDS_MAX)
    return LogEnds(low, high)


def resolve_ranges(consumer: Consumer, span: Span, partitions: list[Partition]) -> dict[Partition, Range]:
    """Raises ``Refused`` when all partitions end before the start."""
    logs = {each: ends_of(consumer, *each) for each in partitions}
    if isinstance(span.start, AtOffset) and all(log.high < span.start.offset for log in logs.values()):
        first = partitions[0]
        more = "" if len(partitions) == 1 else ", and the other partitions end before that offset too"
        raise Refused(f"Offset {span.start.offset} is after the end of {first.topic}-{first.number}, which is {logs[first].high}{more}.")
    by_time = {each: _first_at(consumer, each, partitions) for each in times_of(span)}
    return {each: resolve(span, logs[each], {when: found[each] for when, found in by_time.items()}) for each in partitions}


def _first_at(consumer: Consumer, timestamp_ms: int, partitions: list[Partition]) -> dict[Partition, int | None]:
    wanted = [TopicPartition(each.topic, each.number, timestamp_ms) for each in partitions]
    found = consumer.offsets_for_times(wanted, timeout=ANSWER_SECONDS_MAX)
    return {Partition(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in found}
