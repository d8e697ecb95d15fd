"""Settings of the topic of remote metadata, ``rlmm.config.remote.log.metadata.*``, with Kafka's
names and defaults.

The prefix is itself a setting: in Kafka it belongs to the class that keeps the list of remote
segments, which is built in here.
"""

from __future__ import annotations

from barnabas.config.keys import ConfigError
from barnabas.config.settings import BrokerSettings
from barnabas.model.dataclass import dataclass

_NAMES = {
    "partitions": ("remote.log.metadata.topic.num.partitions", 50, 1),
    "replicas": ("remote.log.metadata.topic.replication.factor", 3, 1),
    "retention_ms": ("remote.log.metadata.topic.retention.ms", -1, -1),
    "min_insync_replicas": ("remote.log.metadata.topic.min.isr", 2, 1),
    "consume_wait_ms": ("remote.log.metadata.consume.wait.ms", 120_000, 0),
}


@dataclass(frozen=True, slots=True)
class MetadataTopicSettings:
    partitions: int = 50
    replicas: int = 3
    retention_ms: int = -1
    min_insync_replicas: int = 2
    # How long this node waits to read back a record that it has published.
    consume_wait_ms: int = 120_000

    @classmethod
    def of(cls, settings: BrokerSettings) -> MetadataTopicSettings:
        prefix = settings.text("remote.log.metadata.manager.impl.prefix")
        values = {}
        for field, (name, default, least) in _NAMES.items():
            text = settings.of_plugins.get(prefix + name)
            try:
                values[field] = default if text is None else int(text)
            except ValueError:
                raise ConfigError(f"{prefix}{name} is {text!r}, which is not a number.") from None
            if values[field] < least:
                raise ConfigError(f"{prefix}{name} is {values[field]}, which must be at least {least}.")
        # A minimum above the number of replicas could never be met.
        values["min_insync_replicas"] = min(values["min_insync_replicas"], values["replicas"])
        return cls(**values)
