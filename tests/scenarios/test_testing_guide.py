"""The Python of docs/testing.md is run as it stands there, by a pytest of its own."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The frameworks of recipes; a recipe whose framework is not installed is skipped by its name.
FRAMEWORKS = ("fastapi", "faust")


def recipes() -> list[str]:
    return BLOCK.findall(PAGE.read_text())


def framework(recipe: str) -> str | None:
    return next((each for each in FRAMEWORKS if re.search(rf"^import {each}|^from {each}", recipe, re.MULTILINE)), None)


def test_the_recipes_of_the_guide_pass(pytester: pytest.Pytester) -> None:
    runnable = [each for each in recipes() if framework(each) is None]
    assert len(runnable) >= 7
    pytester.makeini("[pytest]\nfilterwarnings = ignore\n")
    pytester.makepyfile(**{f"test_recipe_{number}": recipe for number, recipe in enumerate(runnable)})
    outcomes = pytester.runpytest("-q").parseoutcomes()
    assert outcomes == {"passed": sum(recipe.count("\ndef test_") + recipe.startswith("def test_") for recipe in runnable) + 1}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_recipe_of_a_framework_passes(pytester: pytest.Pytester, name: str) -> None:
    if find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    (recipe,) = [each for each in recipes() if framework(each) == name]
    pytester.makeini("[pytest]\nfilterwarnings = ignore\n")
    pytester.makepyfile(test_recipe=recipe)
    result = pytester.runpytest_subprocess("-q")
    assert result.ret == 0
