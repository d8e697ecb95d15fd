"""A broker started: its incarnation, endpoints, features, rack and directories."""

from barnabas.wire.declare import field, metadata_record, struct
from barnabas.wire.types import Bool, Int16, Int32, Int64, String, Uint16, Uuid


@struct
class BrokerEndpoint:
    name: String = field()
    host: String = field()
    port: Uint16 = field()
    security_protocol: Int16 = field()


@struct
class BrokerFeature:
    name: String = field()
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


@metadata_record(key=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord:
    broker_id: Int32 = field()
    is_migrating_zk_broker: Bool = field("2+", default=False)
    incarnation_id: Uuid = field()
    broker_epoch: Int64 = field()
    end_points: list[BrokerEndpoint] = field()
    features: list[BrokerFeature] = field()
    rack: String | None = field(nullable="0+")
    fenced: Bool = field(default=True)
    in_controlled_shutdown: Bool = field("1+", default=False)
    log_dirs: list[Uuid] = field("3+", tag=0, tagged="3+", default_factory=list)
    cordoned_log_dirs: list[Uuid] | None = field("4+", nullable="4+", tag=1, tagged="4+", default=None)
