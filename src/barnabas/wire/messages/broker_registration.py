"""BrokerRegistration: a broker registers with the controller."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, Int64, String, Uint16, Uuid


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


@request(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest:
    broker_id: Int32 = field()
    cluster_id: String = field()
    incarnation_id: Uuid = field()
    listeners: list[Listener] = field()
    features: list[Feature] = field()
    rack: String | None = field(nullable="0+")
    is_migrating_zk_broker: Bool = field("1+", default=False)
    log_dirs: list[Uuid] = field("2+", default_factory=list, ignorable=True)
    previous_broker_epoch: Int64 = field("3+", default=-1, ignorable=True)


@response(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    broker_epoch: Int64 = field(default=-1)
