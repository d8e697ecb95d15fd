"""One of the two clusters of a mirror: its addresses, its alias and its id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark

# The longest a request may take: the slowest makes a controller create thousands of partitions.
ANSWER_SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class MirrorCluster:
    alias: str
    bootstrap: str
    # Security and other client settings, as in a pipeline's file.
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)

    def client_config(self) -> dict[str, Any]:
        """For clients in this process."""
        return for_librdkafka(self.bootstrap, self.kafka)

    def task_config(self) -> dict[str, Any]:
        """For clients in Spark's tasks: a logger cannot be sent there, so librdkafka's log is
        dropped."""
        return {**{name: value for name, value in self.client_config().items() if name != "logger"}, "log_level": 0}

    def spark_options(self) -> dict[str, str]:
        return for_spark(self.bootstrap, self.kafka)

    def admin(self) -> AdminClient:
        return AdminClient(self.client_config())

    def cluster_id(self) -> str:
        """The id of the cluster: unlike an alias it is the same for all mirrors from or to it."""
        try:
            with self.admin() as admin:
                found: Any = admin.list_topics(timeout=ANSWER_SECONDS_MAX)
        except KafkaException as error:
            raise CannotRun(f"Cluster {self.alias!r} does not answer at {self.bootstrap}: {error.args[0].str()}.") from error
        return str(found.cluster_id)
