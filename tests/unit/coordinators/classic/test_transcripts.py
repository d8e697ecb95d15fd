"""Every row of a classic group's state table: the event, the responses, the records, and the next
state.

The scenes are in ``transcripts/``, separated by blank lines: unindented lines are the script,
indented lines the expected consequences.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.coordinators.classic.play import performed

SCENES = [
    pytest.param(scene.strip("\n"), id=f"{file.stem}: {scene.strip().splitlines()[0].lstrip('# ')}")
    for file in sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
    for scene in file.read_text().split("\n\n")
]


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene_goes_as_written(scene: str) -> None:
    assert performed(scene) == scene
