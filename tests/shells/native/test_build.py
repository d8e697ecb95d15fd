"""The record scanner is compiled, or a sentence says why it is not."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

BUILD = Path(__file__).parents[3] / "native" / "build.py"


@pytest.fixture
def building() -> dict[str, Any]:
    return runpy.run_path(str(BUILD))


def test_a_machine_without_a_compiler_gets_a_sentence_and_no_file(
    building: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(building["CannotCompile"], match="There is no C compiler"):
        building["build"](tmp_path / "scanner.so")
    assert list(tmp_path.iterdir()) == []


def test_a_compiler_that_refuses_the_source_leaves_no_file(
    building: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = tmp_path / "cc"
    refusing.write_text("#!/bin/sh\necho no such flag >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("CC", str(refusing))
    # The headers are not looked at by this compiler, and may be missing here.
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    (tmp_path / "Python.h").touch()
    with pytest.raises(building["CannotCompile"], match="no such flag"):
        building["build"](tmp_path / "made" / "scanner.so")
    assert list((tmp_path / "made").iterdir()) == []
