"""Apache Kafka answers the transcripts of classic groups as Barnabas does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from peers.apache_kafka import apache_kafka, why_missing
from tests.scenarios.groups.classic_members import performed_at, scenes

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


@pytest.fixture(scope="module")
def kafka_bootstrap() -> Iterator[str]:
    with apache_kafka(extra={"group.initial.rebalance.delay.ms": "0"}) as (bootstrap, process):
        yield bootstrap
        process.kill()


@pytest.mark.parametrize(("title", "scene"), [pytest.param(*each, id=each[0]) for each in scenes()])
def test_kafka_answers_a_classic_transcript_alike(kafka_bootstrap: str, title: str, scene: str) -> None:
    assert performed_at(kafka_bootstrap, title, scene) == scene
