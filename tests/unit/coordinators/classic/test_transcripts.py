"""Every row of a classic group's state table: what happens, what is answered, what is written, what comes next.

The scenes are in ``transcripts/``, one blank line between them: unindented is the script, indented what must follow from it.
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
