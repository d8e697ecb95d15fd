from __future__ import annotations

from typing import Any

import pytest

from barnabas.console.errors import BadValue
from barnabas.console.web.parameters import Parameter, read_values

_NUMBER = Parameter("n", "A number.", int, 7, minimum=1, maximum=9)


@pytest.mark.parametrize(("given", "read"), [("3", 3), (3, 3), (" 9 ", 9), ("", 7), (None, 7), (["1", "2"], 2)])
def test_a_number_is_read_from_a_form_and_from_json(given: Any, read: int) -> None:
    assert _NUMBER.read(given) == read


@pytest.mark.parametrize("given", ["x", "1.5", 1.5, True, "0", "10", "-", "9" * 19, "9" * 30, {"a": 1}, "٣٤"])
def test_a_value_that_is_no_number_in_bounds_is_refused_by_name(given: Any) -> None:
    with pytest.raises(BadValue) as refused:
        _NUMBER.read(given)
    assert refused.value.parameter == "n"
    assert refused.value.sentence.startswith("n is ")


def test_a_flag_a_list_and_a_choice_are_read() -> None:
    parameters = (
        Parameter("flag", "A flag.", bool, False),
        Parameter("names", "Names.", list),
        Parameter("choice", "A choice.", choices=("a", "b")),
    )
    assert read_values(parameters, {"flag": "on", "names": "x", "choice": "a"}) == {"flag": True, "names": ["x"], "choice": "a"}
    assert read_values(parameters, {"names": ["x", "y"]}) == {"flag": False, "names": ["x", "y"], "choice": None}
    with pytest.raises(BadValue, match="choice is one of a, b"):
        read_values(parameters, {"choice": "c"})
    with pytest.raises(BadValue, match="flag is true or false"):
        read_values(parameters, {"flag": "maybe"})


@pytest.mark.parametrize("given", [2**63, -(2**63) - 1])
def test_a_number_that_kafka_cannot_have_is_refused_where_no_bound_is_declared(given: int) -> None:
    with pytest.raises(BadValue, match="n is a number of 64 bits"):
        Parameter("n", "A number.", int).read(given)


@pytest.mark.parametrize("given", ["\0", "a\ud800", "\udfffb"])
def test_a_text_that_no_program_and_no_broker_takes_is_refused(given: str) -> None:
    for parameter, value in ((Parameter("t", "A text."), given), (Parameter("t", "Texts.", list), ["fine", given])):
        with pytest.raises(BadValue, match="t has a NUL or half of a surrogate pair"):
            parameter.read(value)


def test_a_text_has_a_length_and_may_be_required() -> None:
    with pytest.raises(BadValue, match="more than 3 characters"):
        Parameter("t", "A text.", maximum=3).read("four")
    with pytest.raises(BadValue, match="t is missing"):
        Parameter("t", "A text.", required=True).read("")
