"""ApiVersions: the versions that a broker or controller supports.

The response header is version 0 in every version, because the client does not yet know which
versions the broker supports.
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, Int64, String


@request(key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest:
    client_software_name: String = field("3+", default="", ignorable=True)
    client_software_version: String = field("3+", default="", ignorable=True)


@struct
class ApiVersion:
    api_key: Int16 = field()
    min_version: Int16 = field()
    max_version: Int16 = field()


@struct
class SupportedFeatureKey:
    name: String = field("3+", default="")
    min_version: Int16 = field("3+", default=0)
    max_version: Int16 = field("3+", default=0)


@struct
class FinalizedFeatureKey:
    name: String = field("3+", default="")
    max_version_level: Int16 = field("3+", default=0)
    min_version_level: Int16 = field("3+", default=0)


@response(key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse:
    error_code: Int16 = field()
    api_keys: list[ApiVersion] = field()
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = field("3+", tag=0, tagged="3+", default_factory=list, ignorable=True)
    finalized_features_epoch: Int64 = field("3+", tag=1, tagged="3+", default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field("3+", tag=2, tagged="3+", default_factory=list, ignorable=True)
    zk_migration_ready: Bool = field("3+", tag=3, tagged="3+", default=False, ignorable=True)
