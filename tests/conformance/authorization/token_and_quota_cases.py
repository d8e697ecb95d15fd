"""Requests about delegation tokens and quotas. OWNER has one token before the first case.

Tokens are described before more of them are created: Kafka's brokers learn of a token later.
"""

from __future__ import annotations

from barnabas.wire.messages import alter_client_quotas
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenOwner, DescribeDelegationTokenRequest
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.conformance.authorization.case import OWNER, Case
from tests.conformance.authorization.sides import Side

WHEN = ("issue_timestamp", "expiry_timestamp", "max_timestamp")
MADE = dict.fromkeys(("token_id", "hmac", "issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), "random, or a time")
SEEN = dict.fromkeys((f"tokens[].{each}" for each in ("token_id", "hmac", *WHEN)), "random, or a time")


def create_for_other(side: Side, version: int) -> CreateDelegationTokenRequest:
    return CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name=OWNER, renewers=[], max_lifetime_ms=-1)


def describe(side: Side, version: int) -> DescribeDelegationTokenRequest:
    return DescribeDelegationTokenRequest(owners=[DescribeDelegationTokenOwner(principal_type="User", principal_name=OWNER)])


def alter_quotas(side: Side, version: int) -> alter_client_quotas.AlterClientQuotasRequest:
    entity = alter_client_quotas.EntityData(entity_type="user", entity_name="somebody")
    change = alter_client_quotas.OpData(key="producer_byte_rate", value=1000.0, remove=False)
    entry = alter_client_quotas.EntryData(entity=[entity], ops=[change])
    return alter_client_quotas.AlterClientQuotasRequest(entries=[entry], validate_only=True)


def describe_quotas(side: Side, version: int) -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest(components=[ComponentData(entity_type="user", match_type=0, match="somebody")], strict=False)


CASES = [
    Case(
        "DescribeDelegationToken",
        DescribeDelegationTokenRequest,
        describe,
        (),
        (
            ("DESCRIBE token *",),
            (f"DESCRIBE_TOKENS user User:{OWNER}",),
            ("DESCRIBE token *", "DENY DESCRIBE token *"),
            (f"CREATE_TOKENS user User:{OWNER}",),
        ),
        differ=SEEN,
    ),
    Case(
        "CreateDelegationToken for another owner",
        CreateDelegationTokenRequest,
        create_for_other,
        (),
        (
            (f"CREATE_TOKENS user User:{OWNER}",),
            ("CREATE_TOKENS user *", f"DENY CREATE_TOKENS user User:{OWNER}"),
            (f"DESCRIBE_TOKENS user User:{OWNER}",),
            ("ALL cluster",),
        ),
        versions=(3,),
        differ=MADE,
    ),
    Case(
        "RenewDelegationToken",
        RenewDelegationTokenRequest,
        lambda side, version: RenewDelegationTokenRequest(hmac=b"unknown", renew_period_ms=1),
        (),
        (("ALL cluster",),),
    ),
    Case(
        "ExpireDelegationToken",
        ExpireDelegationTokenRequest,
        lambda side, version: ExpireDelegationTokenRequest(hmac=b"unknown", expiry_time_period_ms=-1),
        (),
        (("ALL cluster",),),
    ),
    Case("DescribeClientQuotas", DescribeClientQuotasRequest, describe_quotas, ("DESCRIBE_CONFIGS cluster",), (("DESCRIBE cluster",),)),
    Case(
        "AlterClientQuotas",
        alter_client_quotas.AlterClientQuotasRequest,
        alter_quotas,
        ("ALTER_CONFIGS cluster",),
        (("ALTER cluster",),),
    ),
]
