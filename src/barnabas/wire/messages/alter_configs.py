"""AlterConfigs: replace all settings of a resource. Deprecated: IncrementalAlterConfigs changes
only the settings it names.
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int8, Int16, Int32, String


@struct
class AlterableConfig:
    name: String = field()
    value: String | None = field(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: Int8 = field()
    resource_name: String = field()
    configs: list[AlterableConfig] = field()


@request(key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest:
    resources: list[AlterConfigsResource] = field()
    validate_only: Bool = field()


@struct
class AlterConfigsResourceResponse:
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    resource_type: Int8 = field()
    resource_name: String = field()


@response(key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse:
    throttle_time_ms: Int32 = field()
    responses: list[AlterConfigsResourceResponse] = field()
