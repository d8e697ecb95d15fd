"""Features of a cluster: the levels that are in force, and those that its brokers support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

_NAME, _VERSION = "barnabas-console", "1"


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    level: int
    """0 for a feature that is not in use."""
    lowest: int
    highest: int


async def features(client: ClusterClient) -> list[Feature]:
    return await client.kept("features", lambda: _asked(client))


async def features_of_brokers(client: ClusterClient, brokers: Iterable[int]) -> dict[int, list[Feature]]:
    """A broker that does not answer is missing."""
    ids = sorted(brokers)
    answers = await client.kept(f"features of brokers {ids}", lambda: client.ask_each_broker(lambda _: _request(), ids))
    return {
        broker: _found(answer)
        for broker, answer in answers.items()
        if isinstance(answer, ApiVersionsResponse) and answer.error_code == ErrorCode.NONE
    }


async def _asked(client: ClusterClient) -> list[Feature]:
    response: ApiVersionsResponse = await client.ask_any(_request())
    refuse_error(response.error_code, None, "Cannot list the features")
    return _found(response)


def _request() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=_NAME, client_software_version=_VERSION)


def _found(response: ApiVersionsResponse) -> list[Feature]:
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    return sorted(
        (Feature(each.name, levels.get(each.name, 0), each.min_version, each.max_version) for each in response.supported_features),
        key=lambda each: each.name,
    )
