"""The service in a thread, with a provider that remembers its charges."""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import Self

from barnabas.testing import EmbeddedCluster
from examples.payments.order import Order
from examples.payments.service import ORDERS, PAYMENTS, REJECTED, Declined, PaymentService

# So that a test need not wait for the backoffs of a client in production. When the only broker
# closes its connections, librdkafka would forget the cluster and begin again at its bootstrap
# addresses, and a transaction of that moment waits for its timeout of a minute.
QUICK = {
    "retry.backoff.ms": 5,
    "retry.backoff.max.ms": 20,
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 50,
    "metadata.recovery.strategy": "none",
    "log_level": 0,
}
STOP_SECONDS_MAX = 120.0


class Provider:
    def __init__(self) -> None:
        self.charges: Counter[str] = Counter()

    def __call__(self, order: Order) -> str:
        if order.order_id.startswith("declined"):
            raise Declined("the card has expired")
        self.charges[order.order_id] += 1
        return f"receipt-{order.order_id}"


class RunningService:
    def __init__(self, kafka: EmbeddedCluster, *, name: str = "payments-1") -> None:
        self.provider = Provider()
        self.service = PaymentService(kafka.bootstrap, self.provider, name=name, client=QUICK)
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(STOP_SECONDS_MAX)
        assert not self._thread.is_alive(), "the service did not stop"
        if self.failure is not None and error is None:
            raise self.failure

    def await_failure(self) -> BaseException:
        self._thread.join(STOP_SECONDS_MAX)
        failure, self.failure = self.failure, None
        assert failure is not None, "the service goes on"
        return failure

    def _run(self) -> None:
        try:
            self.service.run(self._stop)
        except BaseException as failure:  # noqa: BLE001 - raised at the end of the test
            self.failure = failure


def create_topics(kafka: EmbeddedCluster) -> None:
    kafka.create_topics(ORDERS, PAYMENTS, REJECTED, partitions=3)


def place_orders(kafka: EmbeddedCluster, *numbers: int) -> None:
    kafka.produce(ORDERS, [(f"order-{number}", Order(f"order-{number}", 100 + number).to_json()) for number in numbers])


def paid(kafka: EmbeddedCluster, count: int) -> list[str]:
    """The ids of the orders with payments, as soon as ``count`` payments are committed; sorted, and
    repeated if an order was paid twice."""
    kafka.await_records(PAYMENTS, count, timeout=120)
    kafka.await_committed("payments", ORDERS, timeout=120)
    return sorted((each.key or b"").decode() for each in kafka.consume(PAYMENTS))
