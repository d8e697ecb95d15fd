"""Files that the documentation names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "barnabas"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
# `env/real_disk.py`, `env/slices`, `tests/cluster`: words of code with a slash between them and
# nothing else.
_PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)+(?:\.[a-z]+)?)/?`")


def exists(path: str) -> bool:
    return any((folder / path).exists() or (folder / f"{path}.py").exists() for folder in (PACKAGE, ROOT))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = set(_PATH.findall(page.read_text("utf-8")))
    assert sorted(path for path in named if not exists(path)) == []
