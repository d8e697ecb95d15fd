"""One Spark and one broker for all tests of a process: starting Spark takes seconds, and pipelines
do not see each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka
from tests.pipelines.topics import Topics
from tests.registry_process import RegistryProcess

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import SchemaRegistryClient
    from pyspark.sql import SparkSession

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
STREAMING = "org.apache.spark.sql.execution.streaming"
# All that any test of this directory uses: a session cannot get packages later.
PACKAGES = (
    CONNECTOR,
    "org.apache.spark:spark-avro_2.13:4.0.0",
    "io.delta:delta-spark_2.13:4.0.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
    "org.xerial:sqlite-jdbc:3.50.3.0",
    "org.postgresql:postgresql:42.7.7",
    "org.mariadb.jdbc:mariadb-java-client:3.5.3",
)


# Spark on a starved machine. Every wait inside a test ends before, and names the awaited state.
SECONDS_MAX = 900


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    from barnabas.pipelines.session import open_session

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        # Batches of tests are empty or tiny: waiting for more would take most of their time.
        "spark.sql.streaming.pollingDelay": "10ms",
        "spark.sql.streaming.noDataMicroBatches.enabled": "true",
        # Spark's default starts processes (readlink, chmod) for each file of a checkpoint on a
        # local disk, ten a second in such tests.
        "spark.sql.streaming.checkpointFileManagerClass": f"{STREAMING}.FileSystemBasedCheckpointFileManager",
    }
    # Functions of the tests are in packages below the working directory, and workers import them
    # from there.
    settings["spark.executorEnv.PYTHONSAFEPATH"] = ""
    if "not soak" in request.config.getoption("markexpr"):
        # Queries over a few rows are not worth compiling: that takes a quarter of the time. The
        # soak tests run Spark with its defaults.
        settings |= {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    packages = os.environ.get("BARNABAS_TEST_SPARK_PACKAGES")
    wanted = PACKAGES if packages is None else tuple(packages.split(","))
    session = open_session([], "local[2]", settings=settings, log=folder / "spark.log", packages=wanted)
    yield session
    session.stop()


class Broker(Protocol):
    @property
    def bootstrap(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ApacheBroker:
    bootstrap: str


# Many tests write records with timestamps of years ago. Retention looks at a broker's logs every
# five minutes, and the broker of a session lives longer than that.
KEEP_OLD_RECORDS = {"log.retention.ms": "-1"}


@contextmanager
def running_broker() -> Iterator[Broker]:
    """Barnabas, in a process of its own: in this one, Spark's callbacks and the broker would share
    the interpreter's lock. BARNABAS_TEST_BROKER=apache runs the tests with Apache Kafka instead."""
    if os.environ.get("BARNABAS_TEST_BROKER") == "apache":
        with apache_kafka(extra=KEEP_OLD_RECORDS) as (bootstrap, _):
            yield ApacheBroker(bootstrap)
        return
    with EmbeddedBroker(process=True, config=KEEP_OLD_RECORDS) as running:
        yield running


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with running_broker() as running:
        yield running


@pytest.fixture(scope="session")
def registry(broker: Broker) -> Iterator[RegistryProcess]:
    with RegistryProcess(broker.bootstrap) as process:
        yield process


@pytest.fixture
def client(registry: RegistryProcess) -> SchemaRegistryClient:
    """Confluent's."""
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient({"url": registry.url})


@pytest.fixture
def topics(broker: Broker, request: pytest.FixtureRequest) -> Iterator[Topics]:
    """Topics of this test alone: their names start with the test's."""
    with Topics(broker.bootstrap, request.node.name) as made:
        yield made


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoints")
