"""``barnabas transactions``: open transactions, their producers, and how to end hanging ones."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from barnabas.administration.hanging_transactions import DescribedTransaction, Producer
from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Broker, Brokers, CoordinatorOf, refuse_error
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX, Cluster, reach
from barnabas.cli.cluster.topic_metadata import ask_for_all_topics
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, duration_text, print_json, print_table, time_text
from barnabas.cli.transactions.requests import (
    describe_producers,
    describe_transaction,
    find_hanging,
    leader,
    leaders,
    list_transactions,
    write_abort_marker,
)
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.wire.messages.list_transactions import ListTransactionsRequest

_MISSING = "-"
_MS_PER_MINUTE = 60_000
# The default of transaction.max.timeout.ms on brokers: no transaction of a running producer is
# older.
_TIMEOUT_MINUTES = 15
_EVERY_AGE = -1

TransactionalId = Annotated[str, typer.Argument(metavar="TRANSACTIONAL_ID")]
Topic = Annotated[str, typer.Option("--topic", metavar="TOPIC")]
PartitionNumber = Annotated[int, typer.Option("--partition", metavar="N", min=0)]


class TransactionState(StrEnum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    DEAD = "Dead"


def register(app: typer.Typer) -> None:
    transactions = typer.Typer(help="List transactions, and end hanging ones.", no_args_is_help=True)
    transactions.command("list")(list_all)
    transactions.command("describe")(describe)
    transactions.command("describe-producers")(describe_partition)
    transactions.command("abort")(abort)
    transactions.command("find-hanging")(search)
    transactions.command("force-terminate")(force_terminate)
    app.add_typer(transactions, name="transactions")


def list_all(
    state: Annotated[
        list[TransactionState],
        typer.Option("--state", case_sensitive=False, help="Only transactions in this state; may be given several times."),
    ] = [],  # noqa: B006
    duration_min: Annotated[
        int, typer.Option("--duration-min", metavar="MS", help="Only transactions that have run for longer than this.")
    ] = _EVERY_AGE,
    producer_id: Annotated[
        list[int], typer.Option("--producer-id", metavar="N", help="Only transactions of this producer; may be given several times.")
    ] = [],  # noqa: B006
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the transactional ids and the states they are in."""
    request = ListTransactionsRequest(
        state_filters=[each.value for each in state], producer_id_filters=producer_id, duration_filter=duration_min
    )
    found = list_transactions(Brokers(reach(bootstrap, config_file)), request)
    if as_json:
        print_json([each._asdict() for each in found])
        return
    filtered = bool(state or producer_id or duration_min != _EVERY_AGE)
    print_table(
        ("Transactional id", "Coordinator", "Producer id", "State"),
        found,
        empty="There are no such transactions." if filtered else "There are no transactions.",
    )


def describe(
    transactional_id: TransactionalId, as_json: AsJson = False, bootstrap: Bootstrap = None, config_file: ConfigFile = None
) -> None:
    """Show the transaction of a transactional id, and the partitions that wait for its end."""
    found = _existing(Brokers(reach(bootstrap, config_file)), transactional_id)
    duration_ms = _now_ms() - found.start_ms if found.running and found.start_ms is not None else None
    if as_json:
        partitions = [{"topic": each.topic, "partition": each.number} for each in found.partitions]
        print_json({**found._asdict(), "duration_ms": duration_ms, "partitions": partitions})
        return
    print_table(
        ("Transactional id", "Coordinator", "Producer id", "Epoch", "State", "Timeout", "Start", "Duration", "Partitions"),
        [
            (
                *found[: found._fields.index("timeout_ms")],
                duration_text(found.timeout_ms),
                _MISSING if found.start_ms is None else time_text(found.start_ms),
                _MISSING if duration_ms is None else duration_text(duration_ms),
                ",".join(f"{each.topic}-{each.number}" for each in found.partitions) or _MISSING,
            )
        ],
    )


def describe_partition(
    topic: Topic,
    partition: PartitionNumber,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the producers that a partition remembers, and which of them have a transaction open."""
    cluster = reach(bootstrap, config_file)
    place = Partition(topic, partition)
    producers = describe_producers(Brokers(cluster), leader(cluster.admin(), place), [place])
    if as_json:
        print_json([_producer_as_json(each) for each in producers])
        return
    print_table(
        ("Producer id", "Epoch", "Coordinator epoch", "Last sequence", "Last record", "Start offset"),
        [
            (
                each.producer_id,
                each.producer_epoch,
                _MISSING if each.coordinator_epoch is None else each.coordinator_epoch,
                each.last_sequence,
                time_text(each.last_timestamp),
                _MISSING if each.start_offset is None else each.start_offset,
            )
            for each in producers
        ],
        empty=f"Topic {topic}, partition {partition} remembers no producers.",
    )


def abort(
    topic: Topic,
    partition: PartitionNumber,
    start_offset: Annotated[
        int, typer.Option("--start-offset", metavar="N", min=0, help="The transaction's first offset in the partition.")
    ],
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """End a hanging transaction in one partition. This bypasses the coordinator, so use it only
    when no coordinator knows the transaction."""
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    place = Partition(topic, partition)
    broker = leader(cluster.admin(), place)
    found = [each for each in describe_producers(brokers, broker, [place]) if each.start_offset == start_offset]
    if not found:
        raise Refused(f"No open transaction starts at offset {start_offset} in {place}.")
    write_abort_marker(brokers, broker, found[0])
    typer.echo(f"Aborted the transaction of producer {found[0].producer_id} in {place}.")


def search(
    topic: Annotated[str | None, typer.Option("--topic", metavar="TOPIC", help="Only in this topic; default: all topics.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", metavar="N", min=0, help="Only in this partition of the topic.")] = None,
    max_transaction_timeout: Annotated[
        int,
        typer.Option(
            "--max-transaction-timeout",
            metavar="MINUTES",
            min=0,
            help="Ignore transactions that are newer: their producers may still end them.",
        ),
    ] = _TIMEOUT_MINUTES,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Find transactions that partitions hold open and no coordinator will ever end."""
    if partition is not None and topic is None:
        raise Refused("--partition chooses a partition of --topic, so give both.")
    cluster = reach(bootstrap, config_file)
    admin = cluster.admin()
    now_ms = _now_ms()
    if topic is not None and partition is not None:
        place = Partition(topic, partition)
        places: dict[Partition, Broker | None] = {place: leader(admin, place)}
    elif topic is not None:
        places = leaders(admin, [topic])
    else:
        places = leaders(admin, _topics(cluster), missing_ok=True)
    found = find_hanging(Brokers(cluster), places, now_ms=now_ms, age_ms_min=max_transaction_timeout * _MS_PER_MINUTE)
    if as_json:
        print_json([_producer_as_json(each) for each in found])
        return
    print_table(
        ("Topic", "Partition", "Producer id", "Epoch", "Coordinator epoch", "Start offset", "Last record", "Duration"),
        [
            (
                *each.partition,
                each.producer_id,
                each.producer_epoch,
                _MISSING if each.coordinator_epoch is None else each.coordinator_epoch,
                each.start_offset,
                time_text(each.last_timestamp),
                duration_text(now_ms - each.last_timestamp),
            )
            for each in found
        ],
        empty="No transaction hangs.",
    )


def force_terminate(transactional_id: TransactionalId, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """Abort the open transaction of a transactional id, and fence its producer."""
    brokers = Brokers(reach(bootstrap, config_file))
    # A new producer with the same id aborts the transaction of the old one. Check first that the id
    # exists, because InitProducerId would create it.
    found = _existing(brokers, transactional_id)
    response: InitProducerIdResponse = brokers.ask_coordinator(
        CoordinatorOf.TRANSACTION,
        transactional_id,
        InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=found.timeout_ms),
        codes=lambda response: [response.error_code],
    )
    refuse_error(response.error_code, None, f"Cannot terminate the transaction of {transactional_id}")
    typer.echo(
        f"Producer {found.producer_id} of {transactional_id} is fenced, and its transaction of epoch {found.producer_epoch} is aborted."
    )


def _existing(brokers: Brokers, transactional_id: str) -> DescribedTransaction:
    found = describe_transaction(brokers, transactional_id)
    if found is None:
        raise Refused(f"There is no transactional id {transactional_id}.")
    return found


def _topics(cluster: Cluster) -> list[str]:
    return [each.name for each in ask_for_all_topics(cluster.reachable, cluster.properties, seconds_max=ANSWER_SECONDS_MAX)]


def _producer_as_json(producer: Producer) -> dict[str, Any]:
    return {"topic": producer.partition.topic, **producer._asdict(), "partition": producer.partition.number}


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
