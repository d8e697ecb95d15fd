"""``barnabas topics``: make, look at, grow and delete topics."""

from __future__ import annotations

import struct
from typing import Annotated, Any

import typer
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewPartitions, NewTopic, OffsetSpec, TopicDescription  # type: ignore[attr-defined]

from barnabas.cli.client import ANSWER_SECONDS_MAX, Admin, Bootstrap, ConfigFile, error_of, reach
from barnabas.cli.config_resources import ConfigResource, ResourceKind, describe_settings
from barnabas.cli.main import Refused
from barnabas.cli.output import AsJson, print_json, print_table
from barnabas.cli.overrides import parse_pairs
from barnabas.model.ids import Uuid, uuid_text

_BROKER_DEFAULT = -1

Name = Annotated[str, typer.Argument(metavar="TOPIC")]
Assignment = Annotated[
    str | None,
    typer.Option(
        "--assignment",
        metavar="1:2,2:3",
        help="Which brokers hold the replicas: colons inside a partition, preferred leader first, and a comma between partitions.",
    ),
]


def register(app: typer.Typer) -> None:
    topics = typer.Typer(help="Make, look at, grow and delete topics.", no_args_is_help=True)
    topics.command("list")(list_topics)
    topics.command("create")(create)
    topics.command("describe")(describe)
    topics.command("alter")(alter)
    topics.command("delete")(delete)
    app.add_typer(topics, name="topics")


def list_topics(
    internal: Annotated[bool, typer.Option("--internal", help="Also those the cluster keeps for itself.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the topics."""
    admin = reach(bootstrap, config_file).admin()
    rows = [_summary(topic) for topic in _existing(admin) if internal or not topic.is_internal]
    if as_json:
        print_json(rows)
    elif rows:
        print_table(
            ("Topic", "Partitions", "Replication factor"), [(row["name"], row["partitions"], row["replication_factor"]) for row in rows]
        )


def create(
    name: Name,
    partitions: Annotated[int | None, typer.Option("--partitions", min=1, help="The broker's num.partitions when not given.")] = None,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", min=1, help="The broker's default.replication.factor when not given.")
    ] = None,
    config: Annotated[list[str], typer.Option("--config", metavar="NAME=VALUE", help="A setting of the topic.")] = [],  # noqa: B006
    assignment: Assignment = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Leave a topic that is there as it is.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Make a topic."""
    if assignment is not None and (partitions is not None or replication_factor is not None):
        raise Refused("--assignment says how many partitions and replicas there are, so --partitions and --replication-factor cannot.")
    settings = dict(parse_pairs("--config", config))
    if assignment is not None:
        replicas = parse_assignment(assignment)
        new = NewTopic(name, num_partitions=len(replicas), replica_assignment=replicas, config=settings)
    else:
        new = NewTopic(
            name,
            num_partitions=_BROKER_DEFAULT if partitions is None else partitions,
            replication_factor=_BROKER_DEFAULT if replication_factor is None else replication_factor,
            config=settings,
        )
    admin = reach(bootstrap, config_file).admin()
    doing = f"Cannot create topic {name}"
    try:
        (future,) = admin.client.create_topics([new], request_timeout=ANSWER_SECONDS_MAX).values()
        admin.answer_or_error(future)
    except KafkaException as wrong:
        if if_not_exists and error_of(wrong).code() == KafkaError.TOPIC_ALREADY_EXISTS:
            typer.echo(f"Topic {name} exists already.")
            return
        raise admin.refusal(wrong, doing) from wrong
    except ValueError as wrong:
        raise Refused(f"{doing}: {wrong}.") from wrong
    typer.echo(f"Created topic {name}.")


def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", help="All but the internal ones when none is named.")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a topic's partitions, replicas, offsets and the settings that are not defaults."""
    admin = reach(bootstrap, config_file).admin()
    if names:
        topics = list(admin.describe_topics(list(dict.fromkeys(names))).values())
    else:
        topics = [topic for topic in _existing(admin) if not topic.is_internal]
    described = [_details(admin, topic) for topic in topics]
    if as_json:
        print_json(described)
        return
    for index, each in enumerate(described):
        if index:
            typer.echo()
        _print_details(each)


def alter(
    name: Name,
    partitions: Annotated[int, typer.Option("--partitions", min=1, help="How many there shall be; never fewer than there are.")],
    assignment: Assignment = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Add partitions to a topic. Settings are changed with `barnabas configs alter`."""
    replicas = parse_assignment(assignment) if assignment is not None else None
    admin = reach(bootstrap, config_file).admin()
    doing = f"Cannot add partitions to topic {name}"
    try:
        more = NewPartitions(name, partitions, replica_assignment=replicas) if replicas else NewPartitions(name, partitions)
        (future,) = admin.client.create_partitions([more], request_timeout=ANSWER_SECONDS_MAX).values()
    except (KafkaException, ValueError) as wrong:
        # Before anything is sent: librdkafka counts the assignments.
        raise Refused(f"{doing}: {wrong}.") from wrong
    admin.answer(future, doing)
    typer.echo(f"Topic {name} has {partitions} partitions now.")


def delete(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Say nothing about topics that are not there.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete topics and all that is in them."""
    admin = reach(bootstrap, config_file).admin()
    for name in dict.fromkeys(names):
        (future,) = admin.client.delete_topics([name], request_timeout=ANSWER_SECONDS_MAX).values()
        try:
            admin.answer_or_error(future)
        except KafkaException as wrong:
            missing = error_of(wrong).code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            if missing and if_exists:
                continue
            raise (Refused(f"There is no topic {name}.") if missing else admin.refusal(wrong, f"Cannot delete topic {name}")) from wrong
        typer.echo(f"Deleted topic {name}.")


def parse_assignment(text: str) -> list[list[int]]:
    """``1:2,2:3``: partition 0 on brokers 1 and 2, partition 1 on 2 and 3."""
    try:
        return [[int(broker) for broker in partition.split(":")] for partition in text.split(",")]
    except ValueError as wrong:
        raise Refused(f"--assignment takes broker ids such as 1:2,2:3, but was given {text!r}.") from wrong


def _existing(admin: Admin) -> list[TopicDescription]:
    try:
        names = sorted(admin.client.list_topics(timeout=ANSWER_SECONDS_MAX).topics)
    except KafkaException as wrong:
        raise admin.refusal(wrong, "Cannot list topics") from wrong
    return list(admin.describe_topics(names, missing_ok=True).values())


def _summary(topic: TopicDescription) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": _topic_id(topic),
        "internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "replication_factor": max((len(partition.replicas) for partition in topic.partitions), default=0),
    }


def _topic_id(topic: TopicDescription) -> str:
    """In Kafka's alphabet: librdkafka's own text of a uuid uses the base64 with slashes."""
    given: Any = topic.topic_id
    return uuid_text(Uuid(struct.pack(">qq", given.get_most_significant_bits(), given.get_least_significant_bits())))


def _details(admin: Admin, topic: TopicDescription) -> dict[str, Any]:
    specs: Any = OffsetSpec
    starts, ends = _offsets(admin, topic, specs.earliest()), _offsets(admin, topic, specs.latest())
    partitions = [
        {
            "partition": partition.id,
            "leader": partition.leader.id if partition.leader is not None else None,
            "replicas": [node.id for node in partition.replicas],
            "isr": [node.id for node in partition.isr],
            "start_offset": starts.get(partition.id),
            "end_offset": ends.get(partition.id),
        }
        for partition in sorted(topic.partitions, key=lambda each: each.id)
    ]
    settings = [each for each in describe_settings(admin, ConfigResource(ResourceKind.TOPIC, topic.name)) if not each.is_default]
    configs = [{"name": each.name, "value": each.value, "source": each.source} for each in settings]
    return {**_summary(topic), "partitions": partitions, "configs": configs}


def _offsets(admin: Admin, topic: TopicDescription, spec: OffsetSpec) -> dict[int, int]:
    """Of the partitions that have a leader; the others' are nobody's to tell."""
    wanted = {TopicPartition(topic.name, each.id): spec for each in topic.partitions if each.leader is not None and each.leader.id >= 0}
    if not wanted:
        return {}
    futures = admin.client.list_offsets(wanted, request_timeout=ANSWER_SECONDS_MAX)
    doing = f"Cannot ask for the offsets of topic {topic.name}"
    return {partition.partition: admin.answer(future, doing).offset for partition, future in futures.items()}


def _print_details(topic: dict[str, Any]) -> None:
    typer.echo(f"Topic {topic['name']}")
    typer.echo(f"  id                  {topic['topic_id']}")
    typer.echo(f"  partitions          {len(topic['partitions'])}")
    typer.echo(f"  replication factor  {topic['replication_factor']}")
    for setting in topic["configs"]:
        typer.echo(f"  {setting['name']} = {setting['value']} ({setting['source']})")
    typer.echo()
    print_table(
        ("Partition", "Leader", "Replicas", "ISR", "Start offset", "End offset"),
        [
            (
                partition["partition"],
                "none" if partition["leader"] is None else partition["leader"],
                ",".join(map(str, partition["replicas"])),
                ",".join(map(str, partition["isr"])),
                partition["start_offset"],
                partition["end_offset"],
            )
            for partition in topic["partitions"]
        ],
    )
