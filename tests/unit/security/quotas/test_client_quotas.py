"""Limits, use and waits of clients, with numbers from Kafka's rules: eleven windows of a second,
and a burst of ten."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.security.quotas.client_quotas import CLIENTS_KNOWN_MAX, NO_BYTES_LIMIT, ClientLimits, ClientQuotas
from barnabas.security.quotas.quota_table import Entity

NOW = 1_000_000
ALICE: Entity = frozenset({("user", "alice")})
ANYBODY: Entity = frozenset({("user", None)})


def quotas(**values: float) -> ClientQuotas:
    made = ClientQuotas()
    made.replace({ALICE: values})
    return made


def limits(made: ClientQuotas, user: str = "alice", client_id: str = "c") -> ClientLimits:
    found = made.limits(user, client_id)
    assert found is not None
    return found


def test_without_quotas_nothing_is_in_force() -> None:
    made = ClientQuotas()
    found = [made.in_force]
    for quotas_now in ({ALICE: {"producer_byte_rate": 1.0}}, {}):
        made.replace(quotas_now)
        found.append(made.in_force)
    assert found == [False, True, False]


def test_a_quota_of_an_address_is_no_quota_of_a_client() -> None:
    made = ClientQuotas()
    made.replace({frozenset({("ip", None)}): {"connection_creation_rate": 1.0}})
    assert not made.in_force


def test_a_client_without_a_quota_has_no_limits() -> None:
    assert quotas(producer_byte_rate=1.0).limits("bob", "c") is None


def test_a_producer_waits_until_its_rate_is_within_the_quota() -> None:
    made = quotas(producer_byte_rate=100.0)
    assert made.produced(limits(made), 1000, NOW) == 0
    # 1,500 bytes in ten seconds are half too much: ten seconds and five more.
    assert made.produced(limits(made), 500, NOW) == 5000


def test_client_ids_of_a_user_share_its_quota_and_users_do_not_share_the_default() -> None:
    made = ClientQuotas()
    made.replace({ALICE: {"producer_byte_rate": 100.0}, ANYBODY: {"producer_byte_rate": 100.0}})
    made.produced(limits(made, "alice", "one"), 1000, NOW)
    assert made.produced(limits(made, "alice", "two"), 10, NOW) > 0
    assert made.produced(limits(made, "bob"), 1000, NOW) == 0
    assert made.produced(limits(made, "eve"), 1000, NOW) == 0


def test_use_stays_on_record_when_the_quota_changes() -> None:
    made = quotas(producer_byte_rate=100.0)
    made.produced(limits(made), 1000, NOW)
    made.replace({ALICE: {"producer_byte_rate": 50.0}})
    assert made.produced(limits(made), 0, NOW) == 10_000


def test_use_is_forgotten_when_the_last_quota_of_its_kind_is_removed() -> None:
    made = quotas(producer_byte_rate=100.0)
    made.produced(limits(made), 5000, NOW)
    made.replace({})
    made.replace({ALICE: {"producer_byte_rate": 100.0}})
    assert made.produced(limits(made), 0, NOW) == 0


def test_a_withheld_fetch_is_not_recorded() -> None:
    made = quotas(consumer_byte_rate=100.0)
    assert made.fetched(limits(made), 900, NOW, must_wait=False) == (0, True)
    assert made.fetched(limits(made), 200, NOW, must_wait=False) == (1000, False)
    assert made.fetched(limits(made), 100, NOW, must_wait=False) == (0, True)


def test_a_fetch_of_a_client_that_waits_for_another_reason_is_withheld_and_not_recorded() -> None:
    made = quotas(consumer_byte_rate=100.0)
    assert made.fetched(limits(made), 900, NOW, must_wait=True) == (0, False)
    assert made.fetched(limits(made), 1000, NOW, must_wait=False) == (0, True)


def test_a_batch_that_fits_into_no_window_passes_once_the_client_is_within_its_quota() -> None:
    made = quotas(consumer_byte_rate=100.0)
    wait_ms, passes = made.fetched(limits(made), 5000, NOW, must_wait=False)
    assert (wait_ms, passes) == (40_000, True)
    assert made.fetched(limits(made), 5000, NOW, must_wait=False)[1] is False
    assert made.fetched(limits(made), 5000, NOW + wait_ms, must_wait=False)[1] is True


def test_a_fetch_may_have_the_bytes_of_all_windows_but_one() -> None:
    made = quotas(consumer_byte_rate=100.0)
    assert made.fetch_bytes_max(limits(made)) == 1000
    unlimited = quotas(producer_byte_rate=1.0)
    assert unlimited.fetch_bytes_max(limits(unlimited)) == NO_BYTES_LIMIT


def test_a_share_of_a_processor_is_limited_and_the_wait_is_at_most_a_window() -> None:
    made = quotas(request_percentage=50.0)
    # Five seconds of a processor are fifty percent of ten.
    assert made.used(limits(made), 5_000_000_000, NOW) == 0
    assert made.used(limits(made), 50_000_000, NOW) == 100
    assert made.used(limits(made), 5_000_000_000, NOW) == 1000


def test_a_strict_mutation_quota_refuses_what_comes_after_the_last_token() -> None:
    made = quotas(controller_mutation_rate=1.0)
    quota = made.mutation_quota("alice", "c", strict=True, now_ms=NOW)
    assert quota is not None
    quota.take(13)
    assert quota.throttle_ms == 0
    with pytest.raises(KafkaError) as refused:
        quota.take(1)
    assert refused.value.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert quota.throttle_ms == 2000


def test_a_permissive_mutation_quota_accepts_everything_and_throttles() -> None:
    made = quotas(controller_mutation_rate=1.0)
    quota = made.mutation_quota("alice", "c", strict=False, now_ms=NOW)
    assert quota is not None
    quota.take(13)
    quota.take(1)
    assert quota.throttle_ms == 3000


def test_a_client_without_a_mutation_quota_has_none() -> None:
    assert quotas(controller_mutation_rate=1.0).mutation_quota("bob", "c", strict=True, now_ms=NOW) is None
    assert ClientQuotas().mutation_quota("bob", "c", strict=True, now_ms=NOW) is None


def test_values_that_only_old_controllers_accept_do_no_harm() -> None:
    made = quotas(producer_byte_rate=0.0, consumer_byte_rate=float("nan"), controller_mutation_rate=0.0, request_percentage=float("inf"))
    assert made.produced(limits(made), 1, NOW) > 0
    assert made.fetched(limits(made), 10**9, NOW, must_wait=False) == (0, True)
    assert made.used(limits(made), 10**12, NOW) == 0
    quota = made.mutation_quota("alice", "c", strict=False, now_ms=NOW)
    assert quota is not None
    quota.take(1)
    assert quota.throttle_ms > 0
    infinite = quotas(consumer_byte_rate=float("inf"))
    assert infinite.fetch_bytes_max(limits(infinite)) == NO_BYTES_LIMIT


def test_the_number_of_clients_that_are_remembered_is_bounded() -> None:
    made = ClientQuotas()
    made.replace({frozenset({("client-id", None)}): {"producer_byte_rate": 100.0}})
    for number in range(CLIENTS_KNOWN_MAX + 10):
        made.produced(limits(made, "alice", str(number)), 1, NOW + number)
    assert len(made._known) <= CLIENTS_KNOWN_MAX


def test_no_wait_is_longer_than_a_response_can_say() -> None:
    made = quotas(producer_byte_rate=1.0, controller_mutation_rate=1e-9)
    assert made.produced(limits(made), 10**9, NOW) == 2**31 - 1
    quota = made.mutation_quota("alice", "c", strict=False, now_ms=NOW)
    assert quota is not None
    quota.take(10_000)
    assert quota.throttle_ms == 2**31 - 1
