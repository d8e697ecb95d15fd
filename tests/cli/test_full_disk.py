"""Commands that meet a full disk, or print to one, name the file without room."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.devcluster.development import development_properties
from tests.cli.running import Cli
from tests.scenarios.mounts import Ballast, small_disk
from tests.waiting import PATIENCE_SECONDS

CLUSTER_ID = "Zk9pVYQKSuaPWzQH2mR4Rg"
FULL = "/dev/full"


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "full", 1024):
        Ballast(tmp_path / "full").fill()
        yield tmp_path / "full"


def format_words(directory: Path) -> list[str]:
    properties = development_properties(data_dir=str(directory))
    overrides = [part for name, value in properties.items() for part in ("--override", f"{name}={value}")]
    return ["storage", "format", "--cluster-id", CLUSTER_ID, *overrides]


def test_formatting_names_the_directory_and_the_file(full: Path) -> None:
    expected = f"cannot format {full}/d: {full}/d/bootstrap.checkpoint.tmp: No space left on device."
    assert Cli()(*format_words(full / "d")).complaint == expected


@pytest.mark.parametrize("brokers", [1, 2])
def test_up_names_the_directory_and_the_file(full: Path, brokers: int) -> None:
    node = f"{full}/d/node-1"
    expected = f"cannot format {node}: {node}/bootstrap.checkpoint.tmp: No space left on device."
    assert Cli()("up", "--brokers", brokers, "--port", 0, "--data-dir", full / "d").complaint == expected


def test_a_data_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert f"{tmp_path}/file" in Cli()("up", "--port", 0, "--data-dir", tmp_path / "file").complaint
    assert f"{tmp_path}/file/d" in Cli()(*format_words(tmp_path / "file" / "d")).complaint


@pytest.mark.skipif(sys.platform != "linux", reason=f"there is no {FULL} here")
def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    Cli()(*format_words(tmp_path / "d"))
    with Path(FULL).open("w") as output:
        for words in (["log", "dump", str(tmp_path / "d")], ["storage", "random-uuid"]):
            command = [sys.executable, "-m", "barnabas", *words]
            done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_SECONDS, check=False)
            assert (done.returncode, done.stderr) == (1, "barnabas: The output cannot be written: No space left on device.\n")
