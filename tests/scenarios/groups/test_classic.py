"""Classic groups over real connections, as the transcript says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from tests.scenarios.groups.classic_members import performed_at, scenes


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap


@pytest.mark.parametrize(("title", "scene"), [pytest.param(*each, id=each[0]) for each in scenes()])
def test_a_scene_goes_as_written(bootstrap: str, title: str, scene: str) -> None:
    assert performed_at(bootstrap, title, scene) == scene
