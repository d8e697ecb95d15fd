"""Big-data ingestion: the lake and the speed layer agree with each other, and both with plain
Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from examples.ingestion.clicks import CLICKS, clicks
from examples.ingestion.run import from_the_lake, from_the_topic, play, show

# Several queries, one after the other: slow on a busy machine.
pytestmark = pytest.mark.timeout(900)

if TYPE_CHECKING:
    from examples.stage import Stage


def test_both_layers_have_every_click_once(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    play(stage)
    lake = from_the_lake(stage.session, stage.folder)
    assert lake == from_the_topic(stage) == expected()
    assert {path.name for path in (stage.folder / "clicks").glob("day=*")} == {"day=2030-08-14", "day=2030-08-15"}
    show(stage)
    assert "one night, two layers" in capsys.readouterr().out


def expected() -> dict[tuple[str, str], tuple[int, int]]:
    once = {each["id"]: each for each in clicks()}
    assert len(once) == CLICKS < len(clicks()), "some are sent twice"
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for each in once.values():
        place = each["at"][:10], each["page"]
        count, size = found.get(place, (0, 0))
        found[place] = count + 1, size + each["bytes"]
    return found
