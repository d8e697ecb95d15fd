from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from barnabas.pipelines.spark_archives import stop_rereading


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """Spark's and a user's archive, each with a package of two modules, the first of which is
    imported."""
    sparks, users = tmp_path / "pyspark.zip", tmp_path / "theirs.zip"
    for path, package in ((sparks, "sparks_package"), (users, "users_package")):
        with ZipFile(path, "w") as archive:
            for module in ("__init__", "first", "second"):
                archive.writestr(f"{package}/{module}.py", "")
        monkeypatch.syspath_prepend(str(path))
        importlib.import_module(f"{package}.first")
    yield str(sparks), str(users)
    for name in [each for each in sys.modules if each.startswith(("sparks_package", "users_package"))]:
        del sys.modules[name]


def _remembered(archive: str) -> list[str]:
    return [path for path in sys.path_importer_cache if path.startswith(archive)]


def test_only_sparks_own_archives_are_not_read_again(archives: tuple[str, str]) -> None:
    sparks, users = archives
    assert len(_remembered(sparks)) == len(_remembered(users)) == 2
    stop_rereading()
    assert _remembered(sparks) == []
    assert len(_remembered(users)) == 2


def test_modules_that_were_not_imported_yet_can_be_imported(archives: tuple[str, str]) -> None:
    stop_rereading()
    importlib.invalidate_caches()
    assert importlib.import_module("sparks_package.second").__file__ == f"{archives[0]}/sparks_package/second.py"
