"""Elections, replication of the log, snapshots and voters of the quorum, as the scripts say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.quorum.stage import SCENES
from tests.scenarios.transcripts import HOW_TO_ACCEPT


@pytest.mark.parametrize("file", [pytest.param(each, id=each.stem) for each in SCENES])
def test_script_gives_kept_transcript(file: Path) -> None:
    text = file.read_text()
    assert text.startswith("# "), "a script says first what it shows"
    assert SCENES.performed(file) == text, HOW_TO_ACCEPT
