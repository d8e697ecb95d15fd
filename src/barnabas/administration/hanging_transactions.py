"""Transactions that no coordinator will ever end.

A partition may hold a transaction open that no coordinator knows any more. Consumers of committed
records wait at its first record for good: it *hangs*. A transaction that is open for longer than a
producer may take is suspected; it hangs if its coordinator does not know the producer, or not that
it writes to the partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.administration.offset_reset import Partition

_AT_REST = frozenset({"Empty", "CompleteCommit", "CompleteAbort", "Dead"})


class DescribedTransaction(NamedTuple):
    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    start_ms: int | None  # of the current or last transaction; None before the first
    partitions: tuple[Partition, ...]  # those that still wait for their marker

    @property
    def running(self) -> bool:
        return self.state not in _AT_REST


class Producer(NamedTuple):
    """A producer that a partition remembers."""

    partition: Partition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int | None  # None until its first transaction has ended
    last_sequence: int
    last_timestamp: int
    start_offset: int | None  # of its open transaction, if it has one


def hanging(
    open_transactions: Iterable[Producer], ids: Mapping[int, str], described: Mapping[str, DescribedTransaction | None]
) -> list[Producer]:
    """The transactions among ``open_transactions`` that no coordinator will end: it does not know
    the producer, or not that it writes there."""
    stuck = []
    for producer in open_transactions:
        transaction = described.get(ids.get(producer.producer_id, ""))
        if transaction is None or producer.partition not in transaction.partitions:
            stuck.append(producer)
    return stuck


def long_open(producers: Iterable[Producer], *, now_ms: int, age_ms_min: int) -> list[Producer]:
    """Transactions without writes for longer than any producer may take."""
    return [each for each in producers if each.start_offset is not None and now_ms - each.last_timestamp > age_ms_min]
