"""``barnabas share-groups dead-letters``: the records that a share group has given up.

The letters are in the topic that the group's settings name; their headers say where each record
comes from (KIP-1191). ``barnabas pipelines redrive`` sends letters back to their topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, Cluster, reach
from barnabas.cli.configs.resources import ConfigResource, ResourceKind, describe_settings
from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import Group
from barnabas.cli.terminal.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from confluent_kafka import Message

TOPIC_SETTING: Final = "errors.deadletterqueue.topic.name"
LETTERS_MAX: Final = 100
_PREFIX: Final = "__dlq.errors."
_POLL_SECONDS: Final = 1.0


class Letter(NamedTuple):
    topic: str
    partition: str
    offset: str
    deliveries: str
    reason: str
    at: str
    """The partition and offset of the letter itself."""


def dead_letters(
    group: Group,
    letters_max: Annotated[int, typer.Option("--max", min=1, help="The most letters to show, the newest of each partition.")] = LETTERS_MAX,
    topic: Annotated[
        str | None, typer.Option("--topic", metavar="TOPIC", help="The topic, if the group's settings name another now.")
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the records that a share group has rejected, or delivered too often."""
    cluster = reach(bootstrap, config_file)
    named = topic or _topic_of(cluster, group)
    if not named:
        raise Refused(f"{group} keeps no dead letters: its setting {TOPIC_SETTING} is empty.")
    found = list(_letters(cluster, named, group, letters_max))
    if as_json:
        print_json([each._asdict() for each in found])
        return
    print_table(("Topic", "Partition", "Offset", "Deliveries", "Reason", "Letter"), found, empty=f"{named} has no dead letters of {group}.")


def _topic_of(cluster: Cluster, group: str) -> str:
    settings = describe_settings(cluster.admin(), ConfigResource(ResourceKind.GROUP, group))
    return next((each.value or "" for each in settings if each.name == TOPIC_SETTING), "")


def _letters(cluster: Cluster, topic: str, group: str, letters_max: int) -> Iterator[Letter]:
    from confluent_kafka import KafkaException, TopicPartition

    consumer = cluster.consumer({"enable.partition.eof": True, "auto.offset.reset": "earliest"})
    try:
        metadata = consumer.list_topics(topic, timeout=ANSWER_SECONDS_MAX).topics[topic]
        if metadata.error is not None:
            raise Refused(f"The topic {topic} cannot be read: {metadata.error.str()}.")
        places = [TopicPartition(topic, index) for index in metadata.partitions]
        for place in places:
            low, high = consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS_MAX)
            place.offset = max(low, high - letters_max)
        consumer.assign(places)
        reading = {place.partition for place in places}
        left = letters_max
        while reading and left:
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            if message.error() is not None:
                reading.discard(message.partition())
                continue
            letter = _letter(message, group)
            if letter is not None:
                left -= 1
                yield letter
    except KafkaException as error:
        raise cluster.refusal(error, f"Cannot read the topic {topic}") from error
    finally:
        consumer.close()


def _letter(message: Message, group: str) -> Letter | None:
    headers: dict[str, Any] = dict(message.headers() or ())
    values = {name.removeprefix(_PREFIX): _text(value) for name, value in headers.items() if name.startswith(_PREFIX)}
    if values.get("group") != group:
        return None
    at = f"{message.partition()}:{message.offset()}"
    return Letter(
        topic=values.get("topic", ""),
        partition=values.get("partition", ""),
        offset=values.get("offset", ""),
        deliveries=values.get("delivery.count", ""),
        reason=values.get("message", ""),
        at=at,
    )


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
