from __future__ import annotations

import pytest

from barnabas.metadata.quota_filter import MATCH_ANY, MATCH_DEFAULT, MATCH_EXACT, read_filter
from barnabas.metadata.quotas import QuotaEntity
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

ALICE: QuotaEntity = frozenset({("user", "alice")})
DEFAULT_USER: QuotaEntity = frozenset({("user", None)})
ALICE_SHOP: QuotaEntity = frozenset({("user", "alice"), ("client-id", "shop")})
SHOP: QuotaEntity = frozenset({("client-id", "shop")})
ALL = [ALICE, DEFAULT_USER, ALICE_SHOP, SHOP]

Component = tuple[str, int, str | None]


def matching(*components: Component, strict: bool) -> list[QuotaEntity]:
    asked = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    wanted = read_filter(DescribeClientQuotasRequest(components=asked, strict=strict))
    return [each for each in ALL if wanted.matches(each)]


@pytest.mark.parametrize(
    ("components", "loose", "strict"),
    [
        ([], ALL, []),
        ([("user", MATCH_EXACT, "alice")], [ALICE, ALICE_SHOP], [ALICE]),
        ([("user", MATCH_DEFAULT, None)], [DEFAULT_USER], [DEFAULT_USER]),
        ([("user", MATCH_ANY, None)], [ALICE, DEFAULT_USER, ALICE_SHOP], [ALICE, DEFAULT_USER]),
        ([("user", MATCH_ANY, None), ("client-id", MATCH_EXACT, "shop")], [ALICE_SHOP], [ALICE_SHOP]),
    ],
)
def test_an_entity_matches_all_components_and_has_no_others_if_strict(
    components: list[Component], loose: list[QuotaEntity], strict: list[QuotaEntity]
) -> None:
    assert matching(*components, strict=False) == loose
    assert matching(*components, strict=True) == strict


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", MATCH_ANY, None)], ErrorCode.INVALID_REQUEST),
        ([("group", MATCH_ANY, None)], ErrorCode.UNSUPPORTED_VERSION),
        ([("user", MATCH_ANY, None), ("user", MATCH_DEFAULT, None)], ErrorCode.INVALID_REQUEST),
        ([("user", MATCH_EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([("user", MATCH_DEFAULT, "alice")], ErrorCode.INVALID_REQUEST),
        ([("user", 9, None)], ErrorCode.INVALID_REQUEST),
        ([("user", MATCH_ANY, None), ("ip", MATCH_ANY, None)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_filter_that_contradicts_itself_is_refused(components: list[Component], code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        matching(*components, strict=False)
    assert refused.value.code is code
