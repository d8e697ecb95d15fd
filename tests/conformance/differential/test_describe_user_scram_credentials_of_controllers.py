"""DescribeUserScramCredentials, asked at a controller.

Kafka 4.3's controller announces the API, as it does DescribeDelegationToken, and leaves the request
without an answer.
"""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest
from tests.conformance.differential.pair import Pair


def test_describe_user_scram_credentials_of_a_controller_is_served(pair: Pair) -> None:
    answer = pair.ask(pair.barnabas, DescribeUserScramCredentialsRequest(users=None), 0, to_controller=True)
    assert (answer.error_code, answer.results) == (ErrorCode.NONE, [])
