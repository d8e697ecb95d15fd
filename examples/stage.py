"""The environment of every case study: a broker, topics, Spark, and a reader of the results.

    with open_stage(PIPELINES) as stage:
        stage.create("taxi.positions", partitions=3)
        stage.send("taxi.positions", positions(), key="zone")
        stage.run(*PIPELINES)
        print(stage.values("taxi.surges"))

Pipelines get the broker's address from ``BOOTSTRAP``, and the folder for files from ``FOLDER``,
which their files mention. A test passes its own Spark; a study that runs by itself starts one. The
reader and the writer here are librdkafka, so the results do not depend on Spark's own clients.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.running.runner import Run, start
from barnabas.pipelines.session import check_spark, open_session
from barnabas.testing import EmbeddedBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

# The limit for one response of the cluster, on a machine that is busy with other things.
PATIENCE_SECONDS = 60.0
MASTER = "local[2]"
# These sessions are short: Java's second compiler would take a third of their processor time, and
# give it back after many minutes.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m"
SPARK_SETTINGS = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g", "spark.driver.defaultJavaOptions": JAVA_OPTIONS}


class Stage:
    def __init__(self, bootstrap: str, folder: Path, session: SparkSession, environment: Mapping[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.session = session
        self._environment = {"BOOTSTRAP": bootstrap, "FOLDER": str(folder), **(environment or {})}
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "log_level": 0})

    # -- topics ------------------------------------------------------------------------------------

    def create(self, *topics: str, partitions: int = 2, compacted: bool = False, **config: str) -> None:
        """Creates topics with the cluster's default replication. Underscores in settings are
        dots."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        if compacted:
            settings["cleanup.policy"] = "compact"
        for made in self._admin.create_topics([NewTopic(name, partitions, -1, config=settings) for name in topics]).values():
            made.result(PATIENCE_SECONDS)

    def send(self, topic: str, rows: Iterable[Mapping[str, Any] | str], *, key: str | None = None) -> int:
        """Sends rows as JSON, and texts as they are. ``key`` names the field with the key."""
        count = 0
        for row in rows:
            value = row if isinstance(row, str) else json.dumps(row)
            self._produce(topic, value, None if key is None or isinstance(row, str) else str(row[key]))
            count += 1
        assert self._producer.flush(PATIENCE_SECONDS) == 0, f"not everything reached {topic}"
        return count

    def delete(self, topic: str, key: str) -> None:
        """Writes a tombstone, so that a compacted topic forgets the key."""
        self._produce(topic, None, key)
        assert self._producer.flush(PATIENCE_SECONDS) == 0, f"the tombstone did not reach {topic}"

    def _produce(self, topic: str, value: str | None, key: str | None) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key)
                return
            except BufferError:
                self._producer.poll(0.05)

    def values(self, topic: str, decode: Callable[[bytes], Any] = json.loads) -> list[Any]:
        """All committed values, decoded from JSON or by ``decode``, partition by partition."""
        return [value for _, value in self._read(topic, decode)]

    def latest(self, topic: str) -> dict[str, Any]:
        """The last value of each key, as after compaction. Keys with a tombstone are gone."""
        return {key: value for key, value in dict(self._read(topic)).items() if value is not None}

    def _read(self, topic: str, decode: Callable[[bytes], Any] = json.loads) -> list[tuple[str, Any]]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "log_level": 0,
            }
        )
        try:
            partitions = consumer.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic].partitions
            consumer.assign([TopicPartition(topic, index, 0) for index in partitions])
            return list(_until_the_ends(consumer, set(partitions), decode))
        finally:
            consumer.close()

    # -- pipelines ---------------------------------------------------------------------------------

    def run(self, *files: Path) -> None:
        """Runs each pipeline in turn, over all records that exist by now."""
        for file in files:
            run = self.start(file, available_now=True)
            try:
                run.wait()
            finally:
                run.stop()

    def start(self, *files: Path, available_now: bool = False) -> Run:
        """Starts the pipelines, and does not wait for them."""
        return start(self.declared(*files), self.session, checkpoint=str(self.folder / "checkpoints"), available_now=available_now)

    def declared(self, *files: Path) -> list[PipelineDeclaration]:
        with environment(self._environment):
            return [read_pipeline(str(file)) for file in files]


@contextmanager
def open_stage(files: Sequence[Path], variables: Mapping[str, str] | None = None) -> Iterator[Stage]:
    """A broker and a Spark session that end with the context. Ends the process with a sentence when
    Spark cannot run here."""
    with ExitStack() as at_end:
        folder = at_end.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-"))
        bootstrap = at_end.enter_context(EmbeddedBroker(process=True)).bootstrap
        known = {"BOOTSTRAP": bootstrap, "FOLDER": folder, **(variables or {})}
        yield Stage(bootstrap, Path(folder), at_end.enter_context(open_spark(files, Path(folder), known)), variables)


@contextmanager
def open_spark(files: Sequence[Path], folder: Path, variables: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session with the packages that these pipelines need."""
    try:
        check_spark()
        with environment(variables):
            declared = [read_pipeline(str(file)) for file in files]
        settings = {**SPARK_SETTINGS, "spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.local.dir": str(folder / "spark")}
        session = open_session(declared, MASTER, settings=settings, log=folder / "spark.log")
    except PipelineError as wrong:
        raise SystemExit(str(wrong)) from wrong
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _until_the_ends(consumer: Consumer, partitions: set[int], decode: Callable[[bytes], Any]) -> Iterator[tuple[str, Any]]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while partitions:
        if time.monotonic() > deadline:
            raise KafkaException(f"partitions {sorted(partitions)} were not read to their ends within {PATIENCE_SECONDS:g} seconds")
        for message in consumer.consume(1000, timeout=0.5):
            if message.error() is not None:
                partitions.discard(message.partition() or 0)
                continue
            value = message.value()
            yield (message.key() or b"").decode(), None if value is None else decode(value)
