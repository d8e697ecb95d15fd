from __future__ import annotations

import pytest

from barnabas.security.quotas.connection_rates import NO_LIMIT, ConnectionRates, RateLimits

NOW = 1_000_000


def of_addresses(**limits: float) -> ConnectionRates:
    rates = ConnectionRates()
    rates.replace(
        {frozenset({("ip", None if name == "default" else name)}): {"connection_creation_rate": rate} for name, rate in limits.items()}
    )
    return rates


def test_without_limits_no_connection_waits() -> None:
    rates = ConnectionRates()
    assert {rates.wait_ms("CLIENTS", NOW, for_nodes=False) for _ in range(1000)} == {0}
    assert {rates.refusal_ms("10.0.0.1", NOW) for _ in range(1000)} == {0}


def test_listeners_share_the_rate_of_the_node() -> None:
    rates = ConnectionRates()
    rates.change_limits(RateLimits(2))
    waits = [rates.wait_ms("A" if number % 2 else "B", NOW, for_nodes=False) for number in range(21)]
    # Twenty connections are the burst of ten seconds. One more is a twentieth of ten seconds.
    assert waits == [0] * 20 + [500]


def test_a_listener_for_nodes_does_not_use_the_rate_of_the_node() -> None:
    rates = ConnectionRates()
    rates.change_limits(RateLimits(1, {"BROKERS": 2}))
    assert {rates.wait_ms("BROKERS", NOW, for_nodes=True) for _ in range(20)} == {0}
    assert rates.wait_ms("BROKERS", NOW, for_nodes=True) == 500
    assert rates.wait_ms("CLIENTS", NOW, for_nodes=False) == 0


def test_the_stricter_of_node_and_listener_decides() -> None:
    rates = ConnectionRates()
    rates.change_limits(RateLimits(100, {"CLIENTS": 1}))
    assert [rates.wait_ms("CLIENTS", NOW, for_nodes=False) for _ in range(12)] == [0] * 10 + [1000, 1000]


def test_a_limit_can_be_lifted() -> None:
    rates = ConnectionRates()
    rates.change_limits(RateLimits(1))
    for _ in range(20):
        rates.wait_ms("CLIENTS", NOW, for_nodes=False)
    rates.change_limits(RateLimits(NO_LIMIT))
    assert rates.wait_ms("CLIENTS", NOW, for_nodes=False) == 0


def test_a_limit_of_nothing_makes_every_connection_wait_a_window() -> None:
    rates = ConnectionRates()
    rates.change_limits(RateLimits(0))
    assert rates.wait_ms("CLIENTS", NOW, for_nodes=False) == 1000


def test_connections_of_an_address_over_its_quota_are_refused_and_not_recorded() -> None:
    rates = of_addresses(**{"10.0.0.1": 1.0})
    assert [rates.refusal_ms("10.0.0.1", NOW) for _ in range(13)] == [0] * 10 + [1000] * 3
    # The windows are empty again. Had the refused ones been recorded, they would be in them.
    assert rates.refusal_ms("10.0.0.1", NOW + 11_000) == 0
    assert rates.refusal_ms("10.0.0.2", NOW) == 0


def test_the_default_quota_applies_to_each_address_by_itself() -> None:
    rates = of_addresses(default=1.0, **{"10.0.0.1": 2.0})
    assert [rates.refusal_ms("10.0.0.1", NOW) for _ in range(20)] == [0] * 20
    for address in ("10.0.0.2", "10.0.0.3"):
        assert [rates.refusal_ms(address, NOW) for _ in range(11)] == [0] * 10 + [1000]


@pytest.mark.parametrize(
    ("named", "address"), [("10.0.0.1", "::ffff:10.0.0.1"), ("::1", "0:0:0:0:0:0:0:1"), ("2001:DB8::1", "2001:db8::1")]
)
def test_an_address_has_one_quota_however_it_is_written(named: str, address: str) -> None:
    rates = of_addresses(**{named: 1.0})
    assert [rates.refusal_ms(address, NOW) for _ in range(11)][-1] == 1000


def test_names_of_hosts_have_no_effect_and_are_reported() -> None:
    rates = of_addresses(**{"some.host": 1.0})
    assert rates.not_addresses == {"some.host"}
    assert {rates.refusal_ms("10.0.0.1", NOW) for _ in range(100)} == {0}
