"""An order comes in, a payment goes out; both are JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


class InvalidOrder(ValueError):
    """The bytes are not an order; the text says why."""


@dataclass(frozen=True, slots=True)
class Order:
    order_id: str
    cents: int

    @classmethod
    def from_json(cls, data: bytes | None) -> Order:
        try:
            values = json.loads(data or b"")
            order = cls(str(values["order_id"]), int(values["cents"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidOrder(f"not an order: {error!r}") from error
        if order.cents <= 0:
            raise InvalidOrder(f"{order.cents} cents cannot be charged")
        return order

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()


@dataclass(frozen=True, slots=True)
class Payment:
    order_id: str
    cents: int
    receipt: str

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()
