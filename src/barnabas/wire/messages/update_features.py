"""UpdateFeatures: raise or lower the finalised feature levels of the cluster."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int8, Int16, Int32, String


@struct
class FeatureUpdateKey:
    feature: String = field()
    max_version_level: Int16 = field()
    allow_downgrade: Bool = field("0", default=False)
    upgrade_type: Int8 = field("1+", default=1)


@request(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest:
    timeout_ms: Int32 = field(default=60_000)
    feature_updates: list[FeatureUpdateKey] = field()
    validate_only: Bool = field("1+", default=False)


@struct
class UpdatableFeatureResult:
    feature: String = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")


@response(key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    results: list[UpdatableFeatureResult] = field("0-1", default_factory=list, ignorable=True)
