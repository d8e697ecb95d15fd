"""``barnabas simulate``."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from barnabas.cli.errors import Refused
from barnabas.cli.main import build_app


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(build_app("simulate"), ["simulate", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_one_seed_is_reported_in_two_lines() -> None:
    first, second = invoke("quorum", "--seed", "3", "--seconds", "2").splitlines()
    assert first.startswith("seed 3: well.")
    assert "digest" in second


def test_several_seeds_are_counted() -> None:
    assert invoke("quorum", "--seeds", "1..3", "--seconds", "2", "--faults", "kill").startswith("2 seeds, 0 broken")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["galaxy"], "no level 'galaxy'"),
        (["quorum", "--faults", "locusts"], "no faults locusts"),
        (["quorum", "--seeds", "1-3"], "not a range of seeds"),
    ],
)
def test_an_invalid_scenario_is_refused_in_a_sentence(arguments: list[str], complaint: str) -> None:
    with pytest.raises(Refused, match=complaint):
        invoke(*arguments)
