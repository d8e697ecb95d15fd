"""ApiVersions (key 18): the APIs and versions that this listener serves, and the finalized
features.

Behaviour:
- an unknown version gets a version 0 response with UNSUPPORTED_VERSION and the range of ApiVersions
  alone, so that the client can ask again;
- Produce is offered from version 0 although 0 to 2 are refused: librdkafka before 2.8.1 takes a
  broker without Produce v0 for one too old for compression (KAFKA-18659);
- client software names that are not printable words get INVALID_REQUEST, since they end up in logs
  and metrics.

Version notes: features from 3. Before 4, features whose lowest level is 0 are left out, because old
clients cannot parse a zero.
"""

from __future__ import annotations

import struct

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.controller.core.features import REGISTERED_FEATURES
from barnabas.metadata.features import KRAFT_VERSION
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.security.client_software import VERSION_MIN, software_is_valid
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.compiler import encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

NEEDS = NOTHING

PRODUCE_VERSION_ADVERTISED_MIN = 0


def handle(broker: Broker, caller: Caller, request: ApiVersionsRequest) -> ApiVersionsResponse:
    if not software_is_valid(request, caller.version):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[], throttle_time_ms=0)
    if caller.version >= VERSION_MIN:
        caller.connection.client_software = (request.client_software_name, request.client_software_version)
    image = broker.metadata.image
    levels = {**image.features.levels, KRAFT_VERSION: broker.quorum.kraft_version}
    finalized = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level) for name, level in sorted(levels.items()) if level
    ]
    return ApiVersionsResponse(
        error_code=ErrorCode.NONE,
        api_keys=[_offer(key) for key in sorted(caller.connection.listener.apis)],
        throttle_time_ms=0,
        supported_features=[
            SupportedFeatureKey(name=name, min_version=levels.lowest, max_version=levels.highest)
            for name, levels in REGISTERED_FEATURES.items()
            if levels.lowest > 0 or caller.version >= 4
        ],
        finalized_features_epoch=image.provenance.offset,
        finalized_features=finalized,
        zk_migration_ready=False,
    )


def _offer(key: int) -> ApiVersion:
    lowest, highest = stable_versions(ApiKey(key))
    if key == ApiKey.PRODUCE:
        lowest = PRODUCE_VERSION_ADVERTISED_MIN
    return ApiVersion(api_key=key, min_version=lowest, max_version=highest)


def unsupported_version(correlation_id: int) -> OutFrame:
    response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[_offer(ApiKey.API_VERSIONS)], throttle_time_ms=0)
    out = OutFrame(4)
    out += struct.pack(">i", correlation_id)
    encoder(ApiVersionsResponse, 0)(response, out)
    out.seal()
    return out
