"""One real broker inside a test."""

from __future__ import annotations

import os
from collections.abc import Mapping

from barnabas.testing.embedded_cluster import EmbeddedCluster
from barnabas.testing.properties import ConfigValue


class EmbeddedBroker(EmbeddedCluster):
    """A cluster of one broker, or of as many as ``brokers`` says: ``EmbeddedBroker(brokers=3)`` is
    ``EmbeddedCluster(brokers=3)``.

    The broker runs in a thread of this process; ``process=True`` runs it as a child process, which
    can be killed. The arguments are those of :class:`EmbeddedCluster`.
    """

    def __init__(
        self,
        *,
        brokers: int = 1,
        process: bool = False,
        data_dir: str | os.PathLike[str] | None = None,
        port: int = 0,
        config: Mapping[str, ConfigValue] | None = None,
        secure: bool = False,
    ) -> None:
        super().__init__(brokers, process=process, data_dir=data_dir, port=port, config=config, secure=secure)
