"""A topic as commands show it: its partitions with their sizes and offsets, and its own
settings.
"""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any, Final

import typer
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

from barnabas.cli.cluster.client import Admin, error_of
from barnabas.cli.cluster.topic_metadata import PartitionDescription, TopicDescription
from barnabas.cli.configs.resources import ConfigResource, ResourceKind, describe_settings
from barnabas.cli.terminal.output import print_table
from barnabas.cli.topics.listing import summary
from barnabas.cli.topics.sizes import EARLIEST_LOCAL, LATEST_TIERED, NOTHING_TIERED, ReplicaSize, TopicSizes, ask_for_special_offsets

# Short, because a partition without an offset is shown without one: librdkafka asks a leader that
# is down until this time is over, and the rest of the description need not wait for that.
OFFSETS_SECONDS_MAX: Final = 5.0

# Errors that follow from stale metadata, which may name a leader that has changed or is down.
_NO_ANSWER = frozenset(
    {
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
    }
)


def details(admin: Admin, topic: TopicDescription, sizes: TopicSizes, only: Collection[int] | None = None) -> dict[str, Any]:
    """With all partitions, or only those in ``only``."""
    specs: Any = OffsetSpec
    asked_for_starts, asked_for_ends = _ask_for_offsets(admin, topic, specs.earliest()), _ask_for_offsets(admin, topic, specs.latest())
    starts, ends = _offsets(admin, topic, asked_for_starts), _offsets(admin, topic, asked_for_ends)
    settings = describe_settings(admin, ConfigResource(ResourceKind.TOPIC, topic.name))
    tiered = any(each.name == "remote.storage.enable" and each.value == "true" for each in settings)
    local_starts = ask_for_special_offsets(admin.cluster.properties, topic, EARLIEST_LOCAL) if tiered else {}
    last_tiered = ask_for_special_offsets(admin.cluster.properties, topic, LATEST_TIERED) if tiered else {}
    partitions = [
        {
            "partition": partition.id,
            "leader": partition.leader.id if partition.leader is not None else None,
            "replicas": [node.id for node in partition.replicas],
            "isr": [node.id for node in partition.isr],
            "start_offset": starts.get(partition.id),
            "end_offset": ends.get(partition.id),
            "size_bytes": _size_bytes(partition, sizes.of(topic.name, partition.id)),
            "replica_sizes": [asdict(each) for each in sizes.of(topic.name, partition.id)],
            "remote": _remote(local_starts.get(partition.id), last_tiered.get(partition.id)) if tiered else None,
        }
        for partition in sorted(topic.partitions, key=lambda each: each.id)
        if only is None or partition.id in only
    ]
    configs = [{"name": each.name, "value": each.value, "source": each.source} for each in settings if not each.is_default]
    return {**summary(topic), "partition_count": len(topic.partitions), "partitions": partitions, "configs": configs}


def _size_bytes(partition: PartitionDescription, replicas: list[ReplicaSize]) -> int | None:
    """The size of the leader's replica; without a leader, of the largest replica. None when no
    broker reported a size."""
    whole = [each for each in replicas if not each.future]
    led = [each.size_bytes for each in whole if partition.leader is not None and each.broker == partition.leader.id]
    return max(led or [each.size_bytes for each in whole], default=None)


def _remote(local_start: int | None, last_tiered: int | None) -> dict[str, int | None]:
    return {"local_start_offset": local_start, "last_offset": None if last_tiered == NOTHING_TIERED else last_tiered}


def _ask_for_offsets(admin: Admin, topic: TopicDescription, spec: OffsetSpec) -> dict[TopicPartition, Future[Any]]:
    """Asks about partitions that have a leader; the others are left out, because no broker can
    report them."""
    wanted = {TopicPartition(topic.name, each.id): spec for each in topic.partitions if each.leader is not None}
    return admin.client.list_offsets(wanted, request_timeout=OFFSETS_SECONDS_MAX) if wanted else {}


def _offsets(admin: Admin, topic: TopicDescription, asked: dict[TopicPartition, Future[Any]]) -> dict[int, int]:
    """The offsets of partitions whose leaders answered."""
    found = {}
    for partition, future in asked.items():
        try:
            found[partition.partition] = admin.answer_or_error(future).offset
        except KafkaException as error:
            if error_of(error).code() not in _NO_ANSWER:
                raise admin.refusal(error, f"Cannot list the offsets of topic {topic.name}") from error
    return found


def print_details(topic: dict[str, Any]) -> None:
    typer.echo(f"Topic {topic['name']}")
    typer.echo(f"  id                  {topic['topic_id']}")
    typer.echo(f"  partitions          {topic['partition_count']}")
    typer.echo(f"  replication factor  {topic['replication_factor']}")
    for setting in topic["configs"]:
        typer.echo(f"  {setting['name']} = {setting['value']} ({setting['source']})")
    typer.echo()
    tiered = any(partition["remote"] is not None for partition in topic["partitions"])
    columns = ("Partition", "Leader", "Replicas", "ISR", "Start offset", "End offset", "Bytes")
    print_table(
        (*columns, "Local start", "Last remote") if tiered else columns,
        [(*_row(partition), *(partition["remote"].values() if tiered else ())) for partition in topic["partitions"]],
    )


def _row(partition: dict[str, Any]) -> tuple[Any, ...]:
    return (
        partition["partition"],
        "none" if partition["leader"] is None else partition["leader"],
        ",".join(map(str, partition["replicas"])),
        ",".join(map(str, partition["isr"])),
        partition["start_offset"],
        partition["end_offset"],
        partition["size_bytes"],
    )
