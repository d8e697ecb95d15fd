"""A real broker inside a test.

    with EmbeddedBroker() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})

It is the broker that runs in production, on a free port, with its data in a temporary directory that is removed afterwards. pytest
users get one from the fixture ``kafka``.
"""

from barnabas.testing.embedded_broker import EmbeddedBroker

__all__ = ["EmbeddedBroker"]
