"""Builds of peers that fail, as processes."""

from __future__ import annotations

from pathlib import Path

from bench.peers.builds import Build, run_build


def test_a_failed_build_says_its_first_error(tmp_path: Path) -> None:
    build = Build(tmp_path / "program", "sh", ("sh", "-c", "echo hello >&2; echo 'error: no luck' >&2; exit 3"), tmp_path)
    assert run_build(build) == "sh -c of program failed: error: no luck"


def test_a_build_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    build = Build(tmp_path / "program", "sh", ("sh", "-c", "sleep 600"), tmp_path)
    assert run_build(build, seconds_max=0.6) == "program was not built within 0.01 minutes"
