"""A change in a broker's registration: fencing, controlled shutdown, directories."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8, Int32, Int64, Uuid


@metadata_record(key=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field()
    fenced: Int8 = field(tag=0, tagged="0+", default=0)
    in_controlled_shutdown: Int8 = field("1+", tag=1, tagged="1+", default=0)
    log_dirs: list[Uuid] = field("2+", tag=2, tagged="2+", default_factory=list)
    cordoned_log_dirs: list[Uuid] | None = field("3+", nullable="3+", tag=3, tagged="3+", default=None)
