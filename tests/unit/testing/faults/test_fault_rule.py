"""A rule survives the way to a broker in another process."""

from __future__ import annotations

import json

from barnabas.model.errors import ErrorCode
from barnabas.testing.faults.fault_count import FaultCount
from barnabas.testing.faults.fault_rule import Effect, FaultRule
from barnabas.wire.apis import ApiKey


def test_a_rule_is_the_same_after_json() -> None:
    rule = FaultRule(3, Effect.REFUSE, (ApiKey.PRODUCE, ApiKey.FETCH), code=ErrorCode.REQUEST_TIMED_OUT, times=2)
    assert FaultRule.from_json(json.loads(json.dumps(rule.to_json()))) == rule
    slow = FaultRule(4, Effect.DELAY, seconds=0.5)
    assert FaultRule.from_json(json.loads(json.dumps(slow.to_json()))) == slow


def test_a_rule_without_apis_concerns_all() -> None:
    assert FaultRule(0, Effect.DISCONNECT).concerns(ApiKey.METADATA)
    assert not FaultRule(0, Effect.DISCONNECT, (ApiKey.FETCH,)).concerns(ApiKey.METADATA)


def test_a_count_is_used_up_after_its_times() -> None:
    count = FaultCount(2)
    assert [count.take() for _ in range(4)] == [True, True, False, False]
    assert count.used == 2
    assert all(FaultCount(None).take() for _ in range(100))
