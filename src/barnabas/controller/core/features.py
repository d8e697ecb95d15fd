"""Feature levels: the levels that this software supports, and changes to the levels of the
cluster."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Protocol

from barnabas.config.addresses import voter
from barnabas.config.settings import BrokerSettings
from barnabas.controller.core.outcome import Outcome
from barnabas.controller.core.partitions import MIN_INSYNC_REPLICAS
from barnabas.metadata.cluster import FeatureRange
from barnabas.metadata.configs import CLUSTER_DEFAULT, ResourceType
from barnabas.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    SHARE_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
)
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from barnabas.wire.metadata_records import ConfigRecord, FeatureLevelRecord, MetadataRecord, NoOpRecord
from barnabas.wire.versions import Versions

METADATA_VERSION_4_3 = 30
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3

# A range is widened only by the change that implements it. Records are written in the versions of
# 4.3, so no older level of metadata.version can be offered.
SUPPORTED_FEATURES = MappingProxyType(
    {
        METADATA_VERSION: Versions(METADATA_VERSION_4_3, METADATA_VERSION_4_3),
        GROUP_VERSION: Versions(0, 1),
        TRANSACTION_VERSION: Versions(0, 2),
        ELIGIBLE_LEADER_REPLICAS_VERSION: Versions(0, 1),
        SHARE_VERSION: Versions(0, 1),
        STREAMS_VERSION: Versions(0, 1),
    }
)
# The features that nodes register. They include the quorum's own feature, which no record of the
# controller ever sets.
REGISTERED_FEATURES = MappingProxyType({**SUPPORTED_FEATURES, KRAFT_VERSION: Versions(0, 1)})
_DISABLED = Versions(0, 0)


class QuorumFeature(Protocol):
    """The view of the quorum that a change of its own feature level needs."""

    @property
    def kraft_version(self) -> int: ...

    def kraft_upgrade_problem(self, version: int) -> str | None:
        """A sentence with the reason why the level cannot be raised to ``version``; None if it
        can."""


class ConfiguredVoters:
    """A quorum whose voters are configured and cannot change."""

    kraft_version = 0

    def kraft_upgrade_problem(self, version: int) -> str | None:
        return None if version == 0 else "The voters of this quorum are configured and cannot change."


def update_features(image: MetadataImage, settings: BrokerSettings, quorum: QuorumFeature, request: UpdateFeaturesRequest) -> Outcome:
    """All or nothing: the first update that cannot be made makes the whole request fail."""
    records: list[MetadataRecord] = []
    results = []
    kraft_version = None
    for update in request.feature_updates:
        current = quorum.kraft_version if update.feature == KRAFT_VERSION else image.features.level(update.feature)
        refused = _refusal(image, settings, quorum, update, current)
        if refused is not None:
            message = f"Invalid update version {update.max_version_level} for feature {update.feature}. {refused}"
            return Outcome(_answer(ErrorCode.INVALID_UPDATE_VERSION, message))
        if update.max_version_level != current:
            records.extend(_records(image, settings, update))
            kraft_version = update.max_version_level if update.feature == KRAFT_VERSION else kraft_version
        results.append(UpdatableFeatureResult(feature=update.feature, error_code=ErrorCode.NONE, error_message=""))
    response = UpdateFeaturesResponse(throttle_time_ms=0, error_code=ErrorCode.NONE, error_message=None, results=results)
    return Outcome(response) if request.validate_only else Outcome(response, records, kraft_version)


def _answer(error: ErrorCode, message: str) -> UpdateFeaturesResponse:
    message = f"The update failed for all features since the following feature had an error: {message}"
    return UpdateFeaturesResponse(throttle_time_ms=0, error_code=error, error_message=message, results=[])


def _records(image: MetadataImage, settings: BrokerSettings, update: FeatureUpdateKey) -> Iterator[MetadataRecord]:
    if update.feature == KRAFT_VERSION:
        # The quorum writes the records that it needs. This one gives the caller a record of the
        # controller whose application it can await.
        yield NoOpRecord()
        return
    if update.feature == ELIGIBLE_LEADER_REPLICAS_VERSION and update.max_version_level:
        yield from _one_min_isr_for_all(image, settings)
    yield FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level)


def _refusal(image: MetadataImage, settings: BrokerSettings, quorum: QuorumFeature, update: FeatureUpdateKey, current: int) -> str | None:
    level = update.max_version_level
    kind = _SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type
    if kind not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    if level < 0:
        return "A feature version cannot be less than 0."
    if update.feature not in REGISTERED_FEATURES and not current:
        return f"Feature {update.feature} not found."
    for node, supported in _support(image, settings, update.feature):
        if supported is None:
            return f"{node} has not registered, and may not support this feature"
        if level not in supported:
            known = (
                f"only supports versions {supported.lowest}-{supported.highest}" if supported.highest else "does not support this feature."
            )
            return f"{node} {known}"
    if level < current and kind == _UPGRADE:
        return "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
    if level > current and kind != _UPGRADE:
        return "Can't downgrade to a newer version."
    if update.feature == KRAFT_VERSION and level != current:
        return quorum.kraft_upgrade_problem(level) if level > current else "Can't downgrade the version of this feature."
    return None


def _support(image: MetadataImage, settings: BrokerSettings, feature: str) -> Iterator[tuple[str, Versions | None]]:
    """The levels of a feature that each node of the cluster supports; None for a node that has not
    registered."""
    here = settings.integer("node.id")
    yield f"Local controller {here}", REGISTERED_FEATURES.get(feature, _DISABLED)
    for broker in image.cluster.brokers.values():
        yield f"Broker {broker.broker_id}", _range(broker.features, feature)
    for controller in image.cluster.controllers.values():
        if controller.controller_id != here:
            yield f"Controller {controller.controller_id}", _range(controller.features, feature)
    for entry in map(voter, settings.strings("controller.quorum.voters")):
        if entry is not None and entry[0] != here and entry[0] not in image.cluster.controllers:
            yield f"controller {entry[0]}", None


def _range(features: tuple[FeatureRange, ...], name: str) -> Versions:
    return next((Versions(each.lowest, each.highest) for each in features if each.name == name), _DISABLED)


def _one_min_isr_for_all(image: MetadataImage, settings: BrokerSettings) -> Iterator[MetadataRecord]:
    """The eligible leader replicas depend on min.insync.replicas, so from now on all brokers must
    have the same one."""
    if MIN_INSYNC_REPLICAS not in image.configs.by_resource.get(CLUSTER_DEFAULT, {}):
        yield cluster_min_isr(settings)
    for resource, values in image.configs.by_resource.items():
        if resource.type == ResourceType.BROKER and resource.name and MIN_INSYNC_REPLICAS in values:
            yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=MIN_INSYNC_REPLICAS, value=None)


def cluster_min_isr(settings: BrokerSettings) -> ConfigRecord:
    value = str(settings.integer(MIN_INSYNC_REPLICAS))
    return ConfigRecord(resource_type=CLUSTER_DEFAULT.type, resource_name=CLUSTER_DEFAULT.name, name=MIN_INSYNC_REPLICAS, value=value)
