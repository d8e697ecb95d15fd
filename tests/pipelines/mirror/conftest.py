"""Two clusters, and mirrors between them that copy the available records and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines.mirror.cluster import MirrorCluster
from barnabas.pipelines.mirror.mirror import Mirror, MirrorOptions
from barnabas.pipelines.mirror.report import MirrorReport
from barnabas.pipelines.mirror.selection import Policy, TopicSelection
from tests.pipelines.conftest import Broker, running_broker
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RunMirror = Callable[..., list[MirrorReport]]


@pytest.fixture(scope="package")
def other_broker() -> Iterator[Broker]:
    with running_broker() as running:
        yield running


@pytest.fixture
def there(other_broker: Broker, request: pytest.FixtureRequest) -> Iterator[Topics]:
    with Topics(other_broker.bootstrap, request.node.name) as made:
        yield made


@pytest.fixture
def run_mirror(spark: SparkSession, broker: Broker, other_broker: Broker, topics: Topics, checkpoint: str) -> RunMirror:
    """From A (``topics``) to B (``there``), or with ``back=True`` from B to A; by default all
    topics of this test."""

    def run(*patterns: str, back: bool = False, policy: Policy = Policy.RENAME, **options: Any) -> list[MirrorReport]:
        clusters = [MirrorCluster("A", broker.bootstrap), MirrorCluster("B", other_broker.bootstrap)]
        source, target = reversed(clusters) if back else clusters
        exclude = options.pop("exclude", ())
        wanted = patterns or (rf"(?:[AB]\.)*{topics.name('')}.*",)
        selection = TopicSelection(wanted, policy, source.alias, target.alias, exclude)
        options = {"once": True, "groups": [], "checkpoint": checkpoint, **options}
        reports: list[MirrorReport] = []
        Mirror(spark, MirrorOptions(source, target, selection, **options)).run(reports.append)
        return reports

    return run
