"""Transactions: the list, one of them, those that hang, and ways to end them.

An open transaction that a coordinator knows is ended by its coordinator: *terminate* fences its
producer. One that no coordinator knows *hangs*, and is ended in its partition: *abort*.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from barnabas.administration.hanging_transactions import DescribedTransaction, Producer, hanging, long_open
from barnabas.administration.offset_reset import Partition
from barnabas.console.access.catalog import all_topics, topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.transactions import (
    describe_transaction,
    describe_transactions,
    list_transactions,
    producers_of,
    terminate,
    write_abort_marker,
)
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.errors import BadValue, NotFound
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

STATES: Final = (
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Empty",
    "PrepareEpochFence",
    "Dead",
)
# The default of transaction.max.timeout.ms: no transaction of a running producer is older.
TIMEOUT_MINUTES: Final = 15
# Partitions whose producers one search asks for; more are searched topic by topic.
SEARCHED_PARTITIONS_MAX: Final = 20_000


@dataclass(frozen=True, slots=True)
class OpenPartition:
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class TransactionRow:
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int | None
    state: str
    started_ms: int | None
    """Of the transaction that is open."""
    seconds: float | None
    timeout_seconds: float | None
    is_overdue: bool
    """Open for longer than its timeout: its coordinator should have aborted it."""
    partitions: list[OpenPartition]
    """Those that still wait for their marker."""


@dataclass(frozen=True, slots=True)
class TransactionList:
    search: str
    state: str
    producer_id: int | None
    open_seconds_min: int | None
    page: Page[TransactionRow]
    problems: list[str]


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    start_offset: int
    last_timestamp: int
    seconds: float
    """Since its last record."""


@dataclass(frozen=True, slots=True)
class HangingTransactions:
    topic: str
    minutes: int
    partitions: int
    """That were searched."""
    transactions: list[HangingTransaction]
    problems: list[str]


async def list_all(call: Call) -> TransactionList:
    """Only the transactions of the page are described."""
    client = call.cluster
    search, state, producer_id, seconds = (
        call.text("search"),
        call.text("state"),
        call.optional_number("producer_id"),
        call.optional_number("open_seconds_min"),
    )
    listed, problems = await list_transactions(
        client,
        states=[state] if state else [],
        producer_ids=[producer_id] if producer_id is not None else [],
        duration_ms_min=seconds * 1000 if seconds is not None else -1,
    )
    page = page_of(matching(listed, search, lambda each: each.transactional_id), call.number("page"), call.number("size"))
    described = await describe_transactions(client, page.items)
    rows = [
        _row(described[each.transactional_id])
        if each.transactional_id in described
        else TransactionRow(each.transactional_id, each.coordinator, each.producer_id, None, each.state, None, None, None, False, [])
        for each in page.items
    ]
    return TransactionList(search, state, producer_id, seconds, Page(rows, page.number, page.pages, page.size, page.total), problems)


async def show_transaction(call: Call) -> TransactionRow:
    return _row(await _existing(call.cluster, call.text("transactional_id")))


def _row(found: DescribedTransaction) -> TransactionRow:
    started = found.start_ms if found.running else None
    seconds = None if started is None else max(0.0, time.time() - started / 1000)
    return TransactionRow(
        found.transactional_id,
        found.coordinator,
        found.producer_id,
        found.producer_epoch,
        found.state,
        started,
        seconds,
        found.timeout_ms / 1000,
        seconds is not None and seconds > found.timeout_ms / 1000,
        [OpenPartition(*each) for each in found.partitions],
    )


async def find_hanging(call: Call) -> HangingTransactions:
    client, name, minutes = call.cluster, call.text("topic"), call.number("minutes")
    topics = [await topic(client, name)] if name else list((await all_topics(client)).values())
    partitions = sum(len(each.partitions) for each in topics)
    if partitions > SEARCHED_PARTITIONS_MAX:
        raise BadValue(f"The cluster has {partitions} partitions, and one search reads {SEARCHED_PARTITIONS_MAX}: choose a topic.", "topic")
    producers, problems = await producers_of(client, topics)
    now_ms = int(time.time() * 1000)
    stuck = await _stuck(client, long_open(producers, now_ms=now_ms, age_ms_min=minutes * 60_000))
    found = [
        HangingTransaction(
            each.partition.topic,
            each.partition.number,
            each.producer_id,
            each.producer_epoch,
            each.start_offset if each.start_offset is not None else -1,
            each.last_timestamp,
            max(0, now_ms - each.last_timestamp) / 1000,
        )
        for each in stuck
    ]
    return HangingTransactions(name, minutes, partitions, found, problems)


async def _stuck(client: ClusterClient, suspected: list[Producer]) -> list[Producer]:
    if not suspected:
        return []
    listed, problems = await list_transactions(client, states=[], producer_ids=sorted({each.producer_id for each in suspected}))
    if problems:
        # A coordinator that does not answer may know them all.
        raise NotFound(f"The console cannot find out which transactions hang. {problems[0]}")
    described = await describe_transactions(client, listed)
    return hanging(suspected, {each.producer_id: each.transactional_id for each in listed}, described)


async def abort(call: Call) -> Changed:
    client, name, number, start = call.cluster, call.text("topic"), call.number("partition"), call.number("start_offset")
    found = await topic(client, name)
    place = Partition(name, number)
    leader = next((each.leader for each in found.partitions if each.id == number), None)
    if leader is None or leader < 0:
        raise NotFound(f"There is no {place}, or it has no leader.")
    producers, _ = await producers_of(client, [found])
    opened = [each for each in producers if each.partition == place and each.start_offset == start]
    if not opened:
        raise NotFound(f"No open transaction starts at offset {start} in {place}.")
    if not await _stuck(client, opened):
        raise BadValue(f"The transaction in {place} does not hang: its coordinator knows it. Terminate it by its transactional id instead.")
    await write_abort_marker(client, leader, opened[0])
    done = f"The transaction of producer {opened[0].producer_id} in {place} is aborted."
    return Changed(done, call.url("transactions", "hanging"))


async def terminate_transaction(call: Call) -> Changed:
    client, transactional_id = call.cluster, call.text("transactional_id")
    found = await _existing(client, transactional_id)
    if not found.running:
        raise BadValue(f"{transactional_id} has no open transaction: its state is {found.state}.")
    await terminate(client, found)
    done = f"The transaction of {transactional_id} is aborted, and its producer {found.producer_id} is fenced."
    return Changed(done, call.url("transactions", "ids", transactional_id))


async def _existing(client: ClusterClient, transactional_id: str) -> DescribedTransaction:
    found = await describe_transaction(client, transactional_id)
    if found is None:
        raise NotFound(f"There is no transactional id {transactional_id}.")
    return found


OPERATIONS: Final = (
    view(
        "list_transactions",
        "/clusters/{cluster}/transactions",
        list_all,
        summary="Transactional ids and the states of their transactions, a page at a time.",
        page="transactions/list.html",
        parameters=(
            SEARCH,
            Parameter("state", "Only transactions in this state.", default="", choices=("", *STATES)),
            Parameter("producer_id", "Only the transaction of this producer.", int, minimum=0),
            Parameter("open_seconds_min", "Only transactions that are open for longer.", int, minimum=0, maximum=10**9),
            PAGE,
            SIZE,
        ),
    ),
    view(
        "find_hanging_transactions",
        "/clusters/{cluster}/transactions/hanging",
        find_hanging,
        summary="Transactions that partitions hold open and no coordinator will ever end.",
        page="transactions/hanging.html",
        parameters=(
            Parameter("topic", "One topic; all if empty.", default=""),
            Parameter("minutes", "Only those without a record for longer than this.", int, TIMEOUT_MINUTES, minimum=0, maximum=10**6),
        ),
    ),
    view(
        "show_transaction",
        "/clusters/{cluster}/transactions/ids/{transactional_id}",
        show_transaction,
        summary="The transaction of a transactional id, and the partitions that wait for its end.",
        page="transactions/show.html",
    ),
    change(
        "abort_hanging_transaction",
        "/clusters/{cluster}/transactions/abort",
        abort,
        summary="End a hanging transaction in one partition, past the coordinator.",
        parameters=(
            Parameter("topic", "The topic.", required=True),
            Parameter("partition", "The partition.", int, required=True, minimum=0),
            Parameter("start_offset", "The first offset of the transaction there.", int, required=True, minimum=0),
        ),
    ),
    change(
        "terminate_transaction",
        "/clusters/{cluster}/transactions/ids/{transactional_id}/terminate",
        terminate_transaction,
        summary="Abort the open transaction of a transactional id, and fence its producer.",
    ),
)
