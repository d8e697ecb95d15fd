"""``barnabas topics``: create, list, describe, extend and delete topics, and find unhealthy
partitions.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.cluster.admin_request import may_ask
from barnabas.cli.cluster.completion import complete_topic_settings
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, Cluster, reach
from barnabas.cli.cluster.topic_metadata import TopicDescription, ask_for_all_topics
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.cli.terminal.overrides import parse_pairs
from barnabas.cli.topics.deletion import delete_topic
from barnabas.cli.topics.leader_election import elect_leaders
from barnabas.cli.topics.listing import summary

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin
    from barnabas.cli.topics.partition_health import Trouble

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

UnderReplicated = Annotated[bool, typer.Option("--under-replicated", help="Only partitions with replicas that are out of sync.")]
Unavailable = Annotated[bool, typer.Option("--unavailable", help="Only partitions without a leader.")]
UnderMinIsr = Annotated[bool, typer.Option("--under-min-isr", help="Only partitions with fewer replicas in sync than min.insync.replicas.")]
AtMinIsr = Annotated[bool, typer.Option("--at-min-isr", help="Only partitions with exactly min.insync.replicas in sync.")]


def register(app: typer.Typer) -> None:
    topics = typer.Typer(help="Create, list, describe, extend and delete topics.", no_args_is_help=True)
    topics.command("list")(list_topics)
    topics.command("create")(create)
    topics.command("describe")(describe)
    topics.command("alter")(alter)
    topics.command("delete")(delete)
    topics.command("elect-leaders")(elect_leaders)
    app.add_typer(topics, name="topics")


def list_topics(
    internal: Annotated[bool, typer.Option("--internal", help="Also internal topics.")] = False,
    under_replicated: UnderReplicated = False,
    unavailable: Unavailable = False,
    under_min_isr: UnderMinIsr = False,
    at_min_isr: AtMinIsr = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the topics, or only those with unhealthy partitions, internal topics included."""
    cluster = reach(bootstrap, config_file)
    if troubles := _troubles(under_replicated, unavailable, under_min_isr, at_min_isr):
        _list_troubled(cluster.admin(), troubles, as_json)
        return
    rows = [summary(topic) for topic in _existing(cluster) if internal or not topic.is_internal]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Topic", "Partitions", "Replication factor"),
        [(row["name"], row["partitions"], row["replication_factor"]) for row in rows],
        empty="There are no topics." if internal else "There are no topics; --internal lists internal ones too.",
    )


def create(
    name: Name,
    partitions: Annotated[int | None, typer.Option("--partitions", min=1, help="Default: the broker's num.partitions.")] = None,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", min=1, help="Default: the broker's default.replication.factor.")
    ] = None,
    config: Annotated[
        list[str], typer.Option("--config", metavar="NAME=VALUE", help="A setting of the topic.", autocompletion=complete_topic_settings)
    ] = [],  # noqa: B006
    assignment: Assignment = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Do nothing if the topic exists.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Create a topic."""
    if assignment is not None and (partitions is not None or replication_factor is not None):
        raise Refused("--assignment sets the partitions and replicas, so --partitions and --replication-factor cannot be given with it.")
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

    from barnabas.cli.cluster.client import error_of

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
    except KafkaException as error:
        if if_not_exists and error_of(error).code() == KafkaError.TOPIC_ALREADY_EXISTS:
            typer.echo(f"Topic {name} exists already.")
            return
        raise admin.refusal(error, doing) from error
    except ValueError as error:
        raise Refused(f"{doing}: {error}.") from error
    typer.echo(f"Created topic {name}.")


def describe(
    names: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC]...", help="Default: all topics that are not internal.")] = None,
    under_replicated: UnderReplicated = False,
    unavailable: Unavailable = False,
    under_min_isr: UnderMinIsr = False,
    at_min_isr: AtMinIsr = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show a topic's partitions, replicas, offsets, sizes and non-default settings; for a tiered
    topic, also its remote offsets.

    The size of a partition is its leader's; --json has that of every replica. Segments are counted
    by `barnabas log info`."""
    from barnabas.cli.topics.description import details, print_details
    from barnabas.cli.topics.partition_health import troubled_partitions
    from barnabas.cli.topics.sizes import ask_for_sizes

    cluster = reach(bootstrap, config_file)
    admin = cluster.admin()
    troubles = _troubles(under_replicated, unavailable, under_min_isr, at_min_isr)
    if names:
        topics = list(admin.describe_topics(list(dict.fromkeys(names))).values())
    else:
        topics = [topic for topic in _existing(cluster) if troubles or not topic.is_internal]
    troubled = troubled_partitions(admin, topics, troubles)
    if troubles:
        topics = [topic for topic in topics if topic.name in troubled]
    sizes = ask_for_sizes(admin.cluster.properties, topics)
    described = [details(admin, topic, sizes, troubled[topic.name] if troubles else None) for topic in topics]
    if as_json:
        print_json(described)
        return
    if not described and sys.stdout.isatty():
        typer.echo("There are no such partitions." if troubles else "There are no topics.")
    for index, each in enumerate(described):
        if index:
            typer.echo()
        print_details(each)


def alter(
    name: Name,
    partitions: Annotated[int, typer.Option("--partitions", min=1, help="The new number of partitions, larger than the current one.")],
    assignment: Assignment = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Add partitions to a topic. Settings are changed with `barnabas configs alter`."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]

    replicas = parse_assignment(assignment) if assignment is not None else None
    admin = reach(bootstrap, config_file).admin()
    doing = f"Cannot add partitions to topic {name}"
    try:
        more = NewPartitions(name, partitions, replica_assignment=replicas) if replicas else NewPartitions(name, partitions)
        (future,) = admin.client.create_partitions([more], request_timeout=ANSWER_SECONDS_MAX).values()
    except (KafkaException, ValueError) as error:
        # Raised before anything is sent: librdkafka counts the assignments.
        raise Refused(f"{doing}: {error}.") from error
    admin.answer(future, doing)
    typer.echo(f"Topic {name} has {partitions} partitions now.")


def delete(
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    if_exists: Annotated[bool, typer.Option("--if-exists", help="Ignore topics that do not exist.")] = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Delete topics and all their records."""
    admin = reach(bootstrap, config_file).admin()
    for name in dict.fromkeys(names):
        delete_topic(admin, name, if_exists=if_exists)


def parse_assignment(text: str) -> list[list[int]]:
    """``1:2,2:3``: partition 0 on brokers 1 and 2, partition 1 on 2 and 3."""
    try:
        return [[int(broker) for broker in partition.split(":")] for partition in text.split(",")]
    except ValueError as error:
        raise Refused(f"--assignment takes broker ids such as 1:2,2:3, but was given {text!r}.") from error


def _troubles(under_replicated: bool, unavailable: bool, under_min_isr: bool, at_min_isr: bool) -> frozenset[Trouble]:
    if not (under_replicated or unavailable or under_min_isr or at_min_isr):
        return frozenset()
    from barnabas.cli.topics.partition_health import Trouble

    asked_for = zip(Trouble, (under_replicated, unavailable, under_min_isr, at_min_isr), strict=True)
    return frozenset(trouble for trouble, asked in asked_for if asked)


def _list_troubled(admin: Admin, troubles: frozenset[Trouble], as_json: bool) -> None:
    from barnabas.cli.topics.partition_health import troubled_partitions

    topics = _existing(admin.cluster)
    troubled = troubled_partitions(admin, topics, troubles)
    rows = [{**summary(topic), "affected": troubled[topic.name]} for topic in topics if topic.name in troubled]
    if as_json:
        print_json(rows)
        return
    print_table(
        ("Topic", "Partitions", "Replication factor", "Affected"),
        [(row["name"], row["partitions"], row["replication_factor"], ",".join(map(str, row["affected"]))) for row in rows],
        empty="There are no such partitions.",
    )


def _existing(cluster: Cluster) -> list[TopicDescription]:
    if may_ask(cluster.properties):
        return ask_for_all_topics(cluster.reachable, cluster.properties, seconds_max=ANSWER_SECONDS_MAX)
    from confluent_kafka import KafkaException

    admin = cluster.admin()
    try:
        names = sorted(admin.client.list_topics(timeout=ANSWER_SECONDS_MAX).topics)
    except KafkaException as error:
        raise admin.refusal(error, "Cannot list topics") from error
    return list(admin.describe_topics(names, missing_ok=True).values())
