"""Every row of the tables: a state, a request and its result. The producer is 7, in epoch 5;
"before" is epoch 4.
"""

from __future__ import annotations

from itertools import product

import pytest

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.beginning import begin
from barnabas.coordinators.transaction.decision import Decision
from barnabas.coordinators.transaction.ending import end
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.settings import TransactionSettings
from barnabas.coordinators.transaction.state import STATE_BY_TITLE, TransactionState
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

NOW_MS, OFFERED = 1_000_000, 99
PARTITION = TopicPartition("a", 0)
PRESENT, BEFORE, OLDER, LATER, STRANGER = (
    ProducerIdentity(7, 5),
    ProducerIdentity(7, 4),
    ProducerIdentity(7, 3),
    ProducerIdentity(7, 6),
    ProducerIdentity(8, 5),
)


def in_state(title: str, *, last_epoch: int = -1) -> Transaction:
    state = STATE_BY_TITLE[title]
    open_partitions = frozenset({PARTITION}) if title in ("Ongoing", "PrepareCommit", "PrepareAbort") else frozenset()
    start_ms = -1 if title == "Empty" else NOW_MS - 10
    return Transaction("t", 7, 5, 60_000, state, NOW_MS - 5, start_ms, open_partitions, 7, -1, 2, last_epoch)


def outcome(decision: Decision) -> str:
    match decision:
        case Transaction():
            return f"{decision.state.title} {decision.producer_id}/{decision.producer_epoch}"
        case ProducerIdentity():
            return f"{decision.producer_id}/{decision.producer_epoch}"
        case ErrorCode():
            return decision.name
        case _:
            return "needs a producer id"


ENDS_OF_VERSION_0 = """
    Empty           commit  INVALID_TXN_STATE
    Empty           abort   INVALID_TXN_STATE
    Ongoing         commit  PrepareCommit 7/5
    Ongoing         abort   PrepareAbort 7/5
    PrepareCommit   commit  CONCURRENT_TRANSACTIONS
    PrepareCommit   abort   CONCURRENT_TRANSACTIONS
    PrepareAbort    commit  CONCURRENT_TRANSACTIONS
    PrepareAbort    abort   CONCURRENT_TRANSACTIONS
    CompleteCommit  commit  7/5
    CompleteCommit  abort   INVALID_TXN_STATE
    CompleteAbort   commit  INVALID_TXN_STATE
    CompleteAbort   abort   7/5
"""

ENDS_OF_VERSION_2 = """
    Empty           commit present  INVALID_TXN_STATE
    Empty           abort  present  PrepareAbort 7/6
    Empty           commit before   PRODUCER_FENCED
    Empty           abort  before   PRODUCER_FENCED
    Ongoing         commit present  PrepareCommit 7/6
    Ongoing         abort  present  PrepareAbort 7/6
    Ongoing         commit before   PRODUCER_FENCED
    Ongoing         abort  before   PRODUCER_FENCED
    PrepareCommit   commit present  CONCURRENT_TRANSACTIONS
    PrepareCommit   abort  present  CONCURRENT_TRANSACTIONS
    PrepareCommit   commit before   CONCURRENT_TRANSACTIONS
    PrepareCommit   abort  before   CONCURRENT_TRANSACTIONS
    PrepareAbort    commit present  CONCURRENT_TRANSACTIONS
    PrepareAbort    abort  present  CONCURRENT_TRANSACTIONS
    PrepareAbort    commit before   CONCURRENT_TRANSACTIONS
    PrepareAbort    abort  before   CONCURRENT_TRANSACTIONS
    CompleteCommit  commit present  INVALID_TXN_STATE
    CompleteCommit  abort  present  PrepareAbort 7/6
    CompleteCommit  commit before   7/5
    CompleteCommit  abort  before   INVALID_TXN_STATE
    CompleteAbort   commit present  INVALID_TXN_STATE
    CompleteAbort   abort  present  PrepareAbort 7/6
    CompleteAbort   commit before   INVALID_TXN_STATE
    CompleteAbort   abort  before   7/5
"""

BEGINNINGS = """
    Empty           nobody    Empty 7/6
    Empty           present   Empty 7/6
    Empty           before    Empty 7/5
    Empty           older     PRODUCER_FENCED
    Empty           stranger  PRODUCER_FENCED
    Ongoing         nobody    PrepareAbort 7/6
    Ongoing         present   PrepareAbort 7/6
    Ongoing         before    PrepareAbort 7/6
    Ongoing         older     PrepareAbort 7/6
    Ongoing         stranger  PRODUCER_FENCED
    PrepareCommit   nobody    CONCURRENT_TRANSACTIONS
    PrepareCommit   present   CONCURRENT_TRANSACTIONS
    PrepareCommit   stranger  CONCURRENT_TRANSACTIONS
    PrepareAbort    nobody    CONCURRENT_TRANSACTIONS
    PrepareAbort    present   CONCURRENT_TRANSACTIONS
    PrepareAbort    stranger  CONCURRENT_TRANSACTIONS
    CompleteCommit  nobody    Empty 7/6
    CompleteCommit  present   Empty 7/6
    CompleteCommit  before    Empty 7/5
    CompleteCommit  older     PRODUCER_FENCED
    CompleteCommit  stranger  PRODUCER_FENCED
    CompleteAbort   nobody    Empty 7/6
    CompleteAbort   present   Empty 7/6
    CompleteAbort   before    Empty 7/5
    CompleteAbort   older     PRODUCER_FENCED
    CompleteAbort   stranger  PRODUCER_FENCED
"""

PARTITIONS = """
    Empty           present   NONE                         TRANSACTION_ABORTABLE
    Empty           before    PRODUCER_FENCED              PRODUCER_FENCED
    Empty           stranger  INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING
    Ongoing         present   NONE                         NONE
    Ongoing         before    PRODUCER_FENCED              PRODUCER_FENCED
    Ongoing         stranger  INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING
    PrepareCommit   present   CONCURRENT_TRANSACTIONS      CONCURRENT_TRANSACTIONS
    PrepareCommit   before    CONCURRENT_TRANSACTIONS      PRODUCER_FENCED
    PrepareCommit   stranger  CONCURRENT_TRANSACTIONS      INVALID_PRODUCER_ID_MAPPING
    PrepareAbort    present   CONCURRENT_TRANSACTIONS      CONCURRENT_TRANSACTIONS
    PrepareAbort    before    CONCURRENT_TRANSACTIONS      PRODUCER_FENCED
    PrepareAbort    stranger  CONCURRENT_TRANSACTIONS      INVALID_PRODUCER_ID_MAPPING
    CompleteCommit  present   NONE                         TRANSACTION_ABORTABLE
    CompleteCommit  before    PRODUCER_FENCED              PRODUCER_FENCED
    CompleteCommit  stranger  INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING
    CompleteAbort   present   NONE                         TRANSACTION_ABORTABLE
    CompleteAbort   before    PRODUCER_FENCED              PRODUCER_FENCED
    CompleteAbort   stranger  INVALID_PRODUCER_ID_MAPPING  INVALID_PRODUCER_ID_MAPPING
"""

WHO = {"nobody": None, "present": PRESENT, "before": BEFORE, "older": OLDER, "stranger": STRANGER}


def rows(table: str, columns: int) -> list[list[str]]:
    return [line.split(maxsplit=columns - 1) for line in table.strip().splitlines()]


def ended(title: str, given: ProducerIdentity, how: str, version: int) -> str:
    return outcome(end(in_state(title), given, committed=how == "commit", client_version=version, offered=None, now_ms=NOW_MS))


@pytest.mark.parametrize(("state", "how", "expected"), rows(ENDS_OF_VERSION_0, 3))
def test_ends_of_clients_that_keep_their_epoch(state: str, how: str, expected: str) -> None:
    assert ended(state, PRESENT, how, 0) == expected


@pytest.mark.parametrize(("state", "how", "given"), list(product(STATE_BY_TITLE, ("commit", "abort"), (BEFORE, LATER))))
def test_clients_that_keep_their_epoch_are_fenced_with_any_other(state: str, how: str, given: ProducerIdentity) -> None:
    assert ended(state, given, how, 0) == "PRODUCER_FENCED"


@pytest.mark.parametrize(("state", "how", "who", "expected"), rows(ENDS_OF_VERSION_2, 4))
def test_ends_of_clients_whose_epoch_rises(state: str, how: str, who: str, expected: str) -> None:
    given = WHO[who]
    assert given is not None
    assert ended(state, given, how, 2) == expected


@pytest.mark.parametrize(
    ("state", "how", "given"),
    list(product(("Empty", "Ongoing", "CompleteCommit", "CompleteAbort"), ("commit", "abort"), (OLDER, LATER, STRANGER))),
)
def test_clients_whose_epoch_rises_are_fenced_with_any_other(state: str, how: str, given: ProducerIdentity) -> None:
    assert ended(state, given, how, 2) == ("INVALID_PRODUCER_ID_MAPPING" if given == STRANGER else "PRODUCER_FENCED")


@pytest.mark.parametrize(("state", "who", "expected"), rows(BEGINNINGS, 3))
def test_beginnings(state: str, who: str, expected: str) -> None:
    decision = begin(in_state(state, last_epoch=4), "t", given=WHO[who], timeout_ms=1, transaction_version=2, offered=None, now_ms=NOW_MS)
    assert outcome(decision) == expected


@pytest.mark.parametrize(("state", "who", "added", "verified"), rows(PARTITIONS, 4))
def test_partitions(state: str, who: str, added: str, verified: str) -> None:
    machine = TransactionMachine(0, TransactionSettings(), lambda: 0)
    machine.transactions["t"] = in_state(state)
    given = WHO[who]
    assert given is not None
    assert machine.verify("t", *given, [PARTITION]).answer == {PARTITION: ErrorCode[verified]}
    outcome = machine.add_partitions("t", *given, [PARTITION], NOW_MS, transaction_version=2)
    assert outcome.answer == ErrorCode[added]
    assert bool(outcome.records) == (added == "NONE" and state != "Ongoing")


def test_the_tables_have_a_row_for_every_state_that_is_written() -> None:
    written = {title for title, state in STATE_BY_TITLE.items() if state.value <= TransactionState.COMPLETE_ABORT.value}
    for table in (ENDS_OF_VERSION_0, ENDS_OF_VERSION_2, BEGINNINGS, PARTITIONS):
        assert {row[0] for row in rows(table, 2)} == written


def test_a_producer_id_is_asked_for_only_where_it_takes_one() -> None:
    assert outcome(begin(None, "t", given=None, timeout_ms=1, transaction_version=2, offered=None, now_ms=0)) == "needs a producer id"
    assert outcome(begin(None, "t", given=None, timeout_ms=1, transaction_version=2, offered=OFFERED, now_ms=0)) == "Empty 99/0"
    # The offered id stays unused: another request began in the meantime.
    assert outcome(begin(in_state("Empty"), "t", given=None, timeout_ms=1, transaction_version=2, offered=OFFERED, now_ms=0)) == "Empty 7/6"
