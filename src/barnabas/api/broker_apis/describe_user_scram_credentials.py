"""DescribeUserScramCredentials (key 50): which users have SCRAM credentials; never the credentials.

Behaviour:
- no users, or an empty list, asks for all of them;
- a user without credentials gets RESOURCE_NOT_FOUND, one that is named twice DUPLICATE_RESOURCE.

Version notes: one version.
"""

from __future__ import annotations

from collections import Counter

from barnabas.api.broker import Broker
from barnabas.api.needs import on_cluster
from barnabas.metadata.scram import ScramImage
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import Operation
from barnabas.wire.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

NEEDS = on_cluster(Operation.DESCRIBE)


def handle(broker: Broker, caller: Caller, request: DescribeUserScramCredentialsRequest) -> DescribeUserScramCredentialsResponse:
    image = broker.metadata.image.scram
    asked = Counter(each.name for each in request.users or ()) or Counter({user.name: 1 for user in image.by_user})
    return DescribeUserScramCredentialsResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        error_message="",
        results=[_result(image, name, count) for name, count in asked.items()],
    )


def _result(image: ScramImage, name: str, count: int) -> DescribeUserScramCredentialsResult:
    def refused(error: ErrorCode, message: str) -> DescribeUserScramCredentialsResult:
        return DescribeUserScramCredentialsResult(user=name, error_code=error, error_message=message, credential_infos=[])

    if count > 1:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return refused(ErrorCode.DUPLICATE_RESOURCE, message)
    found = [
        CredentialInfo(mechanism=user.mechanism, iterations=keys.iterations) for user, keys in image.by_user.items() if user.name == name
    ]
    if not found:
        message = f"Attempt to describe a user credential that does not exist: {name}"
        return refused(ErrorCode.RESOURCE_NOT_FOUND, message)
    return DescribeUserScramCredentialsResult(user=name, error_code=ErrorCode.NONE, error_message="", credential_infos=found)
