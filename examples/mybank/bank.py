"""Events at the bank: payments, thresholds, and the alerts that are due. A seed fixes all of them.

Most payments are small; about every thirtieth is large. Three of four customers have set a
threshold, each a different one, so that no single limit gives the right alerts. Amounts are cents:
whole numbers add up.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

ACCOUNTS = 50
THRESHOLD_CENTS = (20_000, 50_000, 100_000)
SHOPS = ("bakery", "bookshop", "chemist", "grocer", "jeweller", "railway", "travel agency")
LARGE_SHARE = 1 / 30


@dataclass(frozen=True, slots=True)
class Transaction:
    id: int
    account: str
    cents: int
    shop: str


def transactions(count: int, *, seed: int = 1) -> Iterator[Transaction]:
    chance = random.Random(seed)
    for number in range(1, count + 1):
        large = chance.random() < LARGE_SHARE
        cents = chance.randrange(15_000, 250_000) if large else chance.randrange(100, 9_000)
        yield Transaction(number, _account(chance.randrange(ACCOUNTS)), cents, chance.choice(SHOPS))


def thresholds(*, seed: int = 1) -> dict[str, int]:
    """Cents by account. Customers that are missing here want no alerts."""
    chance = random.Random(seed)
    return {_account(number): chance.choice(THRESHOLD_CENTS) for number in range(ACCOUNTS) if chance.random() < 0.75}


def large_ones(happened: Iterable[Transaction], limits: Mapping[str, int]) -> set[int]:
    """The ids of transactions that need an alert: the expected result of the pipeline."""
    return {each.id for each in happened if each.account in limits and each.cents > limits[each.account]}


def _account(number: int) -> str:
    return f"MB{number:04d}"
