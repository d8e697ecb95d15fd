from __future__ import annotations

from barnabas.administration.hanging_transactions import DescribedTransaction, Producer, hanging, long_open
from barnabas.administration.offset_reset import Partition

ORDERS = Partition("orders", 0)


def opened(producer_id: int, *, last_timestamp: int = 0, start_offset: int | None = 0) -> Producer:
    return Producer(ORDERS, producer_id, 0, None, 0, last_timestamp, start_offset)


def described(producer_id: int, *partitions: Partition) -> DescribedTransaction:
    return DescribedTransaction("tx", 1, producer_id, 0, "Ongoing", 60_000, 0, partitions)


def test_a_transaction_hangs_when_its_coordinator_does_not_know_it_or_its_partition() -> None:
    assert hanging([opened(5)], {}, {}) == [opened(5)]
    assert hanging([opened(5)], {5: "tx"}, {"tx": None}) == [opened(5)]
    assert hanging([opened(5)], {5: "tx"}, {"tx": described(5, Partition("orders", 1))}) == [opened(5)]
    assert hanging([opened(5)], {5: "tx"}, {"tx": described(5, ORDERS)}) == []


def test_only_transactions_older_than_any_allowed_timeout_are_suspected() -> None:
    young, old, closed = opened(1, last_timestamp=950), opened(2, last_timestamp=100), opened(3, last_timestamp=100, start_offset=None)
    assert long_open([young, old, closed], now_ms=1000, age_ms_min=100) == [old]
