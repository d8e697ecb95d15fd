"""Checks before the start: a broker answers and accepts the credentials, and the topics exist.

Spark would find out too, after a minute of retries and with a page of Java. Here it takes one
request to the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka
from barnabas.pipelines.kinds import Kinds
from barnabas.pipelines.sinks import SINKS
from barnabas.pipelines.sources import SOURCES

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.located import Place
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.kafka_settings import ClusterAddress

# A starting cluster answers within this; users at a terminal do not like to wait longer.
ANSWER_SECONDS_MAX = 10.0


def check_topics(pipeline: PipelineDeclaration) -> None:
    """Raises ``CannotRun`` when a topic to read does not exist. Topics that are only written are
    created, with the broker's defaults."""
    if not uses_topics(pipeline):
        return
    read, written = _read(pipeline), _written(pipeline)
    with ClusterTopics(pipeline) as cluster:
        existing = cluster.names()
        for name, place in read.items():
            if name not in existing and name not in written:
                raise place.error(
                    f"there is no topic {name!r} at {pipeline.bootstrap}; "
                    f"create it with `barnabas topics create {name} --bootstrap {pipeline.bootstrap}`."
                )
        for name in written:
            if name not in existing:
                cluster.create(name)


def uses_topics(pipeline: PipelineDeclaration) -> bool:
    patterns = any(source.kind == "pattern" for source in pipeline.sources)
    return patterns or bool(_read(pipeline) or _written(pipeline))


def _read(pipeline: PipelineDeclaration) -> dict[str, Place]:
    return {name: source.place for source in pipeline.sources for name in _topics(SOURCES, source.kind, source.settings)}


def _written(pipeline: PipelineDeclaration) -> dict[str, Place]:
    written = {name: sink.place for sink in pipeline.sinks for name in _topics(SINKS, sink.kind, sink.settings)}
    for source in pipeline.sources:
        if source.decoding is not None and source.decoding.dead_letters is not None:
            written[source.decoding.dead_letters.topic] = source.place
    return written


class ClusterTopics:
    """A client of the cluster, for the length of a ``with`` block: its threads and connections end
    there."""

    def __init__(self, pipeline: PipelineDeclaration | ClusterAddress) -> None:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._pipeline = pipeline
        self._complaints: list[Any] = []
        config = {**for_librdkafka(pipeline.bootstrap, pipeline.kafka), "error_cb": self._complaints.append}
        try:
            self.client = AdminClient(config)
        except (KafkaException, ValueError) as error:
            raise CannotRun(f"The Kafka client cannot be configured: {_words(error)}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.client.__exit__(kind, error, trace)

    def names(self) -> set[str]:
        from confluent_kafka import KafkaException

        try:
            return set(self.client.list_topics(timeout=ANSWER_SECONDS_MAX).topics)
        except KafkaException as error:
            self.client.poll(0)
            raise self._refusal(error) from error

    def create(self, name: str, *, partitions: int = -1, config: dict[str, str] | None = None) -> None:
        """A topic that exists by now is fine too."""
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]

        new = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=config or {})
        (future,) = self.client.create_topics([new], request_timeout=ANSWER_SECONDS_MAX).values()
        try:
            future.result(timeout=ANSWER_SECONDS_MAX)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise CannotRun(f"Topic {name!r} does not exist and cannot be created: {_words(error)}.") from error
        except TimeoutError as error:
            raise CannotRun(f"Topic {name!r} does not exist and was not created within {ANSWER_SECONDS_MAX:g} seconds.") from error

    def _refusal(self, exception: Exception) -> CannotRun:
        from confluent_kafka import KafkaError

        bootstrap = self._pipeline.bootstrap
        codes = {error.code() for error in self._complaints}
        if KafkaError._AUTHENTICATION in codes:  # noqa: SLF001 - librdkafka's own errors begin with an underscore
            return CannotRun(f"The broker at {bootstrap} refuses the credentials: {self._last(KafkaError._AUTHENTICATION)}.")  # noqa: SLF001
        if KafkaError._SSL in codes:  # noqa: SLF001
            return CannotRun(f"No secure connection to {bootstrap}: {self._last(KafkaError._SSL)}.")  # noqa: SLF001
        why = f" ({_phrase(self._complaints[0])})" if self._complaints else ""
        return CannotRun(f"No broker answers at {bootstrap} within {ANSWER_SECONDS_MAX:g} seconds{why}.")

    def _last(self, code: int) -> str:
        return _phrase([error for error in self._complaints if error.code() == code][-1])


def _topics(kinds: Kinds[Any], kind: str, settings: object) -> Iterable[str]:
    named = cast(Callable[[object], Iterable[str]] | None, kinds.constant(kind, "topics", None))
    return () if named is None else named(settings)


def _words(exception: Exception) -> str:
    error = exception.args[0] if exception.args else exception
    return _phrase(error) if hasattr(error, "str") else str(exception)


def _phrase(error: Any) -> str:
    return " ".join(error.str().split()).rstrip(".")
