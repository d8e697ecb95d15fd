"""The deletion of offsets of a group, in topics or partitions that the user names."""

from __future__ import annotations

import typer

from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.errors import Refused
from barnabas.cli.groups.offsets import committed_offsets, delete_offsets, parse_partitions


def delete_named_offsets(brokers: Brokers, group: str, topics: list[str]) -> None:
    """The group exists. Nothing is deleted if an offset is missing."""
    committed = committed_offsets(brokers, group)
    partitions = []
    for name, numbers in parse_partitions(topics).items():
        there = {each.number for each in committed if each.topic == name}
        if not there:
            raise Refused(f"Group {group} has no offsets in topic {name}.")
        for number in sorted(numbers - there):
            raise Refused(f"Group {group} has no offset in {Partition(name, number)}.")
        partitions += [Partition(name, number) for number in sorted(numbers or there)]
    delete_offsets(brokers, group, partitions)
    for each in partitions:
        typer.echo(f"Deleted the offset of group {group} in {each}.")
