"""Types of a program that pays: with every kind of field that a schema can have."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NewType
from uuid import UUID

from pydantic import BaseModel

from barnabas.schemas import AvroType, Digits, JsonType

AccountId = NewType("AccountId", str)


class Status(Enum):
    NEW = "new"
    PAID = "paid"


@dataclass(frozen=True)
class Line:
    name: str
    price: Annotated[Decimal, Digits(12, 2)]
    tags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Card:
    number: str


@dataclass(frozen=True)
class Transfer:
    account: AccountId
    card: Card | None = None


@dataclass
class Payment:
    id: UUID
    at: datetime
    amount: Decimal
    status: Status
    lines: list[Line]
    by_name: dict[str, Line]
    means: Card | Transfer
    count: Annotated[int, AvroType("int"), JsonType({"minimum": 0})]
    ratio: float
    paid: bool
    token: bytes
    day: date
    clock: time
    note: str | None = None
    number: int | None = 7
    previous: Payment | None = None
    labels: dict[str, str] = field(default_factory=dict)
    sizes: tuple[int, ...] = (1, 2)
    state: Status = Status.NEW
    since: date = date(2026, 1, 2)
    fee: Annotated[Decimal, Digits(6, 2)] = Decimal("0.50")
    raw: bytes = b"\xff\x00"
    key: UUID = UUID(int=5)  # noqa: RUF009
    first: Card = Card("none")


def payment(**changes: Any) -> Payment:
    values: dict[str, Any] = {
        "id": UUID(int=1),
        "at": datetime(2026, 1, 1, 12, 30, 0, 5, tzinfo=UTC),
        "amount": Decimal("12.50"),
        "status": Status.PAID,
        "lines": [Line("a", Decimal("1.25"), frozenset({"x", "y"})), Line("b", Decimal("0.00"))],
        "by_name": {"a": Line("a", Decimal("1.25"))},
        "means": Transfer(AccountId("account"), Card("4711")),
        "count": 3,
        "ratio": 0.5,
        "paid": True,
        "token": b"\x00\xff",
        "day": date(2026, 1, 1),
        "clock": time(12, 30),
    }
    return Payment(**{**values, **changes})


class OrderLine(BaseModel):
    name: str
    price: Annotated[Decimal, Digits(12, 2)]


class Order(BaseModel):
    id: UUID
    at: datetime
    status: Status
    lines: list[OrderLine]
    note: str | None = None
    by_name: dict[str, OrderLine] = {}


def order() -> Order:
    line = OrderLine(name="a", price=Decimal("1.25"))
    return Order(id=UUID(int=1), at=datetime(2026, 1, 1, tzinfo=UTC), status=Status.PAID, lines=[line], by_name={"a": line})
