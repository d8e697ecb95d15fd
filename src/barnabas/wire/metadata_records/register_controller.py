"""A controller started: its incarnation, endpoints and features."""

from barnabas.wire.declare import field, metadata_record, struct
from barnabas.wire.types import Bool, Int16, Int32, String, Uint16, Uuid


@struct
class ControllerEndpoint:
    name: String = field()
    host: String = field()
    port: Uint16 = field()
    security_protocol: Int16 = field()


@struct
class ControllerFeature:
    name: String = field()
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


@metadata_record(key=27, versions="0", flexible="0+")
class RegisterControllerRecord:
    controller_id: Int32 = field()
    incarnation_id: Uuid = field()
    zk_migration_ready: Bool = field()
    end_points: list[ControllerEndpoint] = field()
    features: list[ControllerFeature] = field()
