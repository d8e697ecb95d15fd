"""Threads that share more files than the process may open never write into the wrong one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def stress(directory: Path, descriptors: int, seconds: int) -> None:
    command = [sys.executable, "-m", "tests.shells.env.open_file_stress", str(directory), str(descriptors), str(seconds)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(ended.stdout)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("descriptors", [512, 1024])
def test_every_file_holds_its_own_bytes_at_the_limit(tmp_path: Path, descriptors: int) -> None:
    stress(tmp_path, descriptors, 3)


@pytest.mark.soak
@pytest.mark.parametrize("descriptors", [256, 512, 1024, 4096])
def test_every_file_holds_its_own_bytes_in_a_long_run(tmp_path: Path, descriptors: int) -> None:
    stress(tmp_path, descriptors, 120)
