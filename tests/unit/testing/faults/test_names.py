"""Names of APIs and errors are taken in any spelling, and unknown ones get a sentence."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing.faults.names import api_named, error_named
from barnabas.wire.apis import ApiKey


@pytest.mark.parametrize("name", ["OffsetCommit", "offset_commit", "OFFSET_COMMIT", "offset commit", 8])
def test_an_api_goes_by_its_name_in_any_case(name: str | int) -> None:
    assert api_named(name) is ApiKey.OFFSET_COMMIT


@pytest.mark.parametrize("name", ["NOT_ENOUGH_REPLICAS", "NotEnoughReplicas", "not enough replicas", 19])
def test_an_error_goes_by_its_name_in_any_case(name: str | int) -> None:
    assert error_named(name) is ErrorCode.NOT_ENOUGH_REPLICAS


def test_an_unknown_api_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(ValueError, match=r"Kafka has no API 'Produec'\. Did you mean Produce"):
        api_named("Produec")
    with pytest.raises(ValueError, match=r"Known names: Produce, Fetch, "):
        api_named("xyz")


def test_an_unknown_error_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(ValueError, match=r"no error code 'NOT_ENOUGH_REPLICA'\. Did you mean NOT_ENOUGH_REPLICAS"):
        error_named("NOT_ENOUGH_REPLICA")
    with pytest.raises(ValueError, match="no error code 0"):
        error_named(0)
