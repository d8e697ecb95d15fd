"""ListConfigResources: the resources that have settings of their own."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@request(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    resource_types: list[Int8] = field("1+", default_factory=list)


@struct
class ConfigResource:
    resource_name: String = field()
    resource_type: Int8 = field("1+", default=16, ignorable=True)


@response(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    config_resources: list[ConfigResource] = field()
