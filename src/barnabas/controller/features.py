"""Feature levels: which this software supports, and changes to the level the cluster has agreed on."""

from __future__ import annotations

from types import MappingProxyType

from barnabas.controller.outcome import Outcome
from barnabas.metadata.features import GROUP_VERSION, METADATA_VERSION, TRANSACTION_VERSION
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from barnabas.wire.metadata_records import FeatureLevelRecord, MetadataRecord
from barnabas.wire.versions import Versions

METADATA_VERSION_4_3 = 30
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3

# What is true of this node, and only that: a range is widened in the change that makes it so. Records are written in the
# versions of 4.3, so no older level of metadata.version can be offered.
SUPPORTED_FEATURES = MappingProxyType(
    {
        METADATA_VERSION: Versions(METADATA_VERSION_4_3, METADATA_VERSION_4_3),
        GROUP_VERSION: Versions(0, 1),
        TRANSACTION_VERSION: Versions(0, 2),
    }
)


def update_features(image: MetadataImage, request: UpdateFeaturesRequest) -> Outcome:
    """All or nothing: the first update that cannot be made refuses the request."""
    records: list[MetadataRecord] = []
    results = []
    error, message = ErrorCode.NONE, None
    for update in request.feature_updates:
        refused = _refusal(image, update)
        if refused is not None:
            error, message = refused
            break
        if update.max_version_level != image.features.level(update.feature):
            records.append(FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level))
        results.append(UpdatableFeatureResult(feature=update.feature, error_code=ErrorCode.NONE, error_message=""))
    if error is not ErrorCode.NONE:
        records, results = [], []
        message = f"The update failed for all features since the following feature had an error: {message}"
    response = UpdateFeaturesResponse(throttle_time_ms=0, error_code=error, error_message=message, results=results)
    return Outcome(response, [] if request.validate_only else records)


def _refusal(image: MetadataImage, update: FeatureUpdateKey) -> tuple[ErrorCode, str] | None:
    supported = SUPPORTED_FEATURES.get(update.feature)
    level = update.max_version_level
    current = image.features.level(update.feature)
    kind = _SAFE_DOWNGRADE if update.allow_downgrade else update.upgrade_type
    if supported is None:
        return ErrorCode.INVALID_UPDATE_VERSION, f"Invalid update version {level} for feature {update.feature}, which is not known here."
    if level < 0 or level not in supported:
        return (
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {update.feature}. Local controller supports {supported}.",
        )
    if kind not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return ErrorCode.INVALID_UPDATE_VERSION, f"Upgrade type {kind} does not exist."
    if level < current and kind == _UPGRADE:
        return (
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {update.feature}. Can't downgrade from {current} without a downgrade type.",
        )
    return None
