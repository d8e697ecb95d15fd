from __future__ import annotations

import pytest

from barnabas.cli.cluster.choice import Sources, choose
from barnabas.cli.errors import Refused

_AT = "bootstrap.servers"
# From the strongest to the weakest.
ORDER = [
    ("typed_bootstrap", "a:1"),
    ("typed_properties", {_AT: "b:1"}),
    ("config_file", {_AT: "c:1"}),
    ("typed_profile", {_AT: "d:1"}),
    ("ambient_bootstrap", "e:1"),
    ("ambient_profile", {_AT: "f:1"}),
    ("used_profile", {_AT: "g:1"}),
]


def test_addresses_come_from_the_strongest_source_that_has_any() -> None:
    for strongest in range(len(ORDER)):
        given = dict(ORDER[strongest:])
        assert choose(Sources(**given)).addresses == f"{'abcdefg'[strongest]}:1"  # type: ignore[arg-type]


def test_without_any_source_there_are_no_addresses() -> None:
    assert choose(Sources()).addresses is None


def test_properties_are_merged_and_a_typed_one_wins() -> None:
    choice = choose(
        Sources(
            typed_properties={"client.id": "typed"},
            config_file={"client.id": "file", "acks": "1"},
            typed_profile={"client.id": "profile", "acks": "all", "security.protocol": "ssl", _AT: "a:1"},
        )
    )
    assert choice.properties == {"client.id": "typed", "acks": "1", "security.protocol": "ssl"}


def test_the_login_of_the_used_profile_never_reaches_another_cluster() -> None:
    used = {_AT: "prod:9092", "sasl.password": "secret"}
    assert choose(Sources(typed_bootstrap="localhost:9092", used_profile=used)).properties == {}
    assert choose(Sources(ambient_bootstrap="localhost:9092", used_profile=used)).properties == {}
    assert choose(Sources(used_profile=used)).properties == {"sasl.password": "secret"}


def test_empty_addresses_are_refused() -> None:
    with pytest.raises(Refused, match="--bootstrap is empty"):
        choose(Sources(typed_bootstrap=" "))
