"""The bank at work: payments go into its database, a few at a time, each with a known time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from examples.mybank.bank import Transaction
from examples.mybank.database import Ledger

# Slow enough that the bank is still at work when the cluster has recovered from its loss.
PAYMENTS_AT_ONCE = 100
SECONDS_BETWEEN_PAYMENTS = 0.4
# One payment in so many comes before the first alert.
FIRST_PART = 10


@dataclass(slots=True)
class Payments:
    """Pays in its own thread. After the first payments it waits for :attr:`day_may_go_on`: Spark's
    first batches take much longer than all later ones. The second half waits for
    :attr:`half_may_follow`: on a slow machine the bank would be done before a broker is lost, and
    no alert would be left to wait for."""

    ledger: Ledger
    paid_at: dict[int, float] = field(default_factory=dict)  # By transaction.
    day_may_go_on: threading.Event = field(default_factory=threading.Event)
    half_may_follow: threading.Event = field(default_factory=threading.Event)
    _closing: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @property
    def is_open(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def begin(self, history: Sequence[Transaction]) -> None:
        self._start(self._day, history)

    def go_on(self, later: Iterable[Transaction]) -> None:
        """Pays without an end, until closed."""
        self._start(self._pay, later)

    def close(self) -> None:
        self._closing.set()
        self.day_may_go_on.set()
        self.half_may_follow.set()
        if self._thread is not None:
            self._thread.join()

    def _start(self, deed: object, given: Iterable[Transaction]) -> None:
        assert callable(deed)
        self._thread = threading.Thread(target=deed, args=(given,), name="bank", daemon=True)
        self._thread.start()

    def _day(self, history: Sequence[Transaction]) -> None:
        first, half = len(history) // FIRST_PART, len(history) // 2
        self._pay(history[:first])
        self.day_may_go_on.wait()
        self._pay(history[first:half])
        self.half_may_follow.wait()
        self._pay(history[half:])

    def _pay(self, payments: Iterable[Transaction]) -> None:
        for rows in _in_portions(payments):
            if self._closing.is_set():
                return
            now = time.perf_counter()
            self.paid_at.update({each.id: now for each in rows})
            self.ledger.insert(rows)
            self._closing.wait(SECONDS_BETWEEN_PAYMENTS)


def _in_portions(payments: Iterable[Transaction]) -> Iterator[list[Transaction]]:
    left = iter(payments)
    while rows := list(islice(left, PAYMENTS_AT_ONCE)):
        yield rows
