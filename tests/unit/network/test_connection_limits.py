"""The limit of connections of an address, from the current settings."""

from __future__ import annotations

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.devcluster.development import development_properties
from barnabas.network.listener import ConnectionLimits
from barnabas.node.connection_limits import SEND_BUFFER_BYTES, connection_limits


def limits(**overrides: str) -> ConnectionLimits:
    given = {name.replace("__", "."): value for name, value in overrides.items()}
    settings = parse_broker_config(development_properties(data_dir="/d", overrides=given))
    return connection_limits(settings.values, settings.explicit)


def test_the_limits_default_to_kafkas() -> None:
    assert limits() == ConnectionLimits(
        request_bytes_max=104_857_600,
        idle_seconds_max=600.0,
        connections_max=2**31 - 1,
        connections_per_address_max=2**31 - 1,
        backlog=50,
        send_buffer_bytes=SEND_BUFFER_BYTES,
        receive_buffer_bytes=-1,
    )


def test_max_connections_is_the_limit_of_each_listener() -> None:
    assert limits(max__connections="10").connections_max == 10


def test_each_socket_buffer_can_be_set_alone() -> None:
    found = limits(socket__send__buffer__bytes="2000")
    assert (found.send_buffer_bytes, found.receive_buffer_bytes) == (2000, -1)


def test_an_address_may_override_the_limit_in_either_direction() -> None:
    found = limits(max__connections__per__ip="5", max__connections__per__ip__overrides="10.0.0.1:7,10.0.0.2:0")
    assert [found.allowed_from(f"10.0.0.{last}") for last in (1, 2, 3)] == [7, 0, 5]


def test_an_ipv6_address_may_have_an_override() -> None:
    assert limits(max__connections__per__ip__overrides="::1:7").allowed_from("::1") == 7


@pytest.mark.parametrize("text", ["junk", "127.0.0.1:x", ":", "a:1,b"])
def test_an_invalid_override_in_the_metadata_log_sets_no_limit(text: str) -> None:
    values = {**parse_broker_config(development_properties(data_dir="/d")).values, "max.connections.per.ip.overrides": text}
    assert connection_limits(values, ()).allowed_from("127.0.0.1") == 2**31 - 1
