"""One of the two clusters of a mirror: where it is, what people call it, and what it calls itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark

# As long as a request may take: the slowest is a controller that creates thousands of partitions.
ANSWER_SECONDS_MAX = 30.0


@dataclass(frozen=True, slots=True)
class MirrorCluster:
    alias: str
    bootstrap: str
    kafka: Mapping[str, str] = field(default_factory=dict)  # security and the like, as a pipeline's file says it

    def client_config(self) -> dict[str, Any]:
        """For clients in this process."""
        return for_librdkafka(self.bootstrap, self.kafka)

    def task_config(self) -> dict[str, Any]:
        """For clients in Spark's tasks: a logger cannot travel there, so what librdkafka would log is not written at all."""
        return {**{name: value for name, value in self.client_config().items() if name != "logger"}, "log_level": 0}

    def spark_options(self) -> dict[str, str]:
        return for_spark(self.bootstrap, self.kafka)

    def admin(self) -> AdminClient:
        return AdminClient(self.client_config())

    def cluster_id(self) -> str:
        """What the cluster calls itself: unlike an alias it is the same for all who mirror from or to it."""
        try:
            with self.admin() as admin:
                found: Any = admin.list_topics(timeout=ANSWER_SECONDS_MAX)
        except KafkaException as error:
            raise CannotRun(f"Cluster {self.alias!r} does not answer at {self.bootstrap}: {error.args[0].str()}.") from error
        return str(found.cluster_id)
