"""Rooms introduce themselves: packages open with a page, handlers with their behaviour."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "src" / "barnabas"
MODULES_MIN = 4
PAGE_LINES_MIN = 4
# The root has two modules; its page is the README.
PACKAGES = [each.parent for each in sorted(SOURCES.rglob("__init__.py")) if each.parent != SOURCES]
HANDLERS = [
    *sorted((SOURCES / "api" / "broker_apis").glob("*.py")),
    *sorted((SOURCES / "api" / "controller_apis").glob("*.py")),
    SOURCES / "api" / "produce" / "handler.py",
]


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""


def modules(package: Path) -> list[Path]:
    return [each for each in package.glob("*.py") if each.name != "__init__.py"]


@pytest.mark.parametrize(
    "package",
    [each for each in PACKAGES if len(modules(each)) >= MODULES_MIN],
    ids=lambda package: str(package.relative_to(SOURCES)),
)
def test_a_package_with_several_modules_opens_with_a_page(package: Path) -> None:
    assert len(docstring(package / "__init__.py").splitlines()) >= PAGE_LINES_MIN


@pytest.mark.parametrize("handler", [each for each in HANDLERS if each.name != "__init__.py"], ids=lambda path: path.stem)
def test_a_handler_states_its_behaviour_and_version_notes(handler: Path) -> None:
    text = docstring(handler)
    assert "Behaviour:" in text
    assert "Version notes:" in text
