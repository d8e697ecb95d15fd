"""ControllerRegistration: a controller registers its endpoints and features."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, String, Uint16, Uuid


@struct
class Listener:
    name: String = field()
    host: String = field()
    port: Uint16 = field()
    security_protocol: Int16 = field()


@struct
class Feature:
    name: String = field()
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


@request(key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest:
    controller_id: Int32 = field()
    incarnation_id: Uuid = field()
    zk_migration_ready: Bool = field()
    listeners: list[Listener] = field()
    features: list[Feature] = field()


@response(key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
