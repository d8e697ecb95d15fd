"""A real broker inside a test.

    with EmbeddedBroker() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})

It is the broker that runs in production, on a free port, with its data in a temporary directory
that is removed afterwards. pytest users get one from the fixture ``kafka``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.testing.embedded_broker import EmbeddedBroker

__all__ = ["EmbeddedBroker"]


def __getattr__(name: str) -> Any:
    """Every pytest run loads our plugin, and with it this package; only tests that use a broker pay
    for importing one."""
    if name == "EmbeddedBroker":
        from barnabas.testing.embedded_broker import EmbeddedBroker

        return EmbeddedBroker
    raise AttributeError(name)
