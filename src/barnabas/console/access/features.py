"""Features of a cluster: the levels that are in force, and those that its brokers support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse

_UPGRADE, _SAFE_DOWNGRADE = 1, 2
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


async def update_feature(client: ClusterClient, feature: Feature, level: int, *, validate_only: bool) -> None:
    """Raises a :class:`~barnabas.console.errors.ConsoleError` with the sentence of the controller.
    A lower level is a safe downgrade."""
    kind = _SAFE_DOWNGRADE if level < feature.level else _UPGRADE
    update = FeatureUpdateKey(feature=feature.name, max_version_level=level, upgrade_type=kind)
    request = UpdateFeaturesRequest(feature_updates=[update], validate_only=validate_only)
    response: UpdateFeaturesResponse = await client.ask_any(request, is_change=not validate_only)
    doing = f"The level of {feature.name} cannot be {level}"
    # Up to version 1 each feature has an error of its own; later the first one is that of all.
    for each in response.results:
        refuse_error(each.error_code, each.error_message, doing)
    refuse_error(response.error_code, response.error_message, doing)


def _request() -> ApiVersionsRequest:
    return ApiVersionsRequest(client_software_name=_NAME, client_software_version=_VERSION)


def _found(response: ApiVersionsResponse) -> list[Feature]:
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    return sorted(
        (Feature(each.name, levels.get(each.name, 0), each.min_version, each.max_version) for each in response.supported_features),
        key=lambda each: each.name,
    )
