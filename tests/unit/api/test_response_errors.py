"""The search for error codes, in every response of the protocol."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.api.response_errors import ERROR_FIELD, error_search
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.declare import ArrayOf, StructOf, declaration_of

RESPONSES = {key.api_name: messages(key)[1] for key in ApiKey}
# Code 1 is in the response itself, 2 in its lists, 3 in the lists of these, and so on.
FIRST_CODE = 1


def filled(cls: type[Any], code: int) -> tuple[Any, list[int]]:
    """A message with one element in every list and an error in every place, and the errors."""
    message, codes = cls(), []
    for field in declaration_of(cls).fields:
        if field.name == ERROR_FIELD:
            setattr(message, field.name, code)
            codes.append(code)
        elif isinstance(field.type, ArrayOf) and isinstance(field.type.element, StructOf):
            inner, found = filled(field.type.element.cls, code + 1)
            setattr(message, field.name, [inner])
            codes += found
        elif isinstance(field.type, StructOf):
            inner, found = filled(field.type.cls, code + 1)
            setattr(message, field.name, inner)
            codes += found
    return message, codes


def errors(message: Any) -> list[int]:
    found: list[int] = []
    search = error_search(type(message))
    if search is not None:
        search(message, found.append)
    return found


@pytest.mark.parametrize("name", RESPONSES)
def test_every_error_of_a_response_is_found(name: str) -> None:
    message, codes = filled(RESPONSES[name], FIRST_CODE)
    assert errors(message) == codes


@pytest.mark.parametrize("name", RESPONSES)
def test_a_response_without_errors_has_none(name: str) -> None:
    assert errors(RESPONSES[name]()) == []


def test_a_list_that_is_null_has_no_errors() -> None:
    response = RESPONSES["Fetch"]()
    response.responses = None
    assert errors(response) == []
