"""A partition's whole state."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8, Int32, Uuid


@metadata_record(key=3, versions="0-2", flexible="0+")
class PartitionRecord:
    partition_id: Int32 = field(default=-1)
    topic_id: Uuid = field()
    replicas: list[Int32] = field()
    isr: list[Int32] = field()
    removing_replicas: list[Int32] = field()
    adding_replicas: list[Int32] = field()
    leader: Int32 = field(default=-1)
    leader_recovery_state: Int8 = field(tag=0, tagged="0+", default=0)
    leader_epoch: Int32 = field(default=-1)
    partition_epoch: Int32 = field(default=-1)
    directories: list[Uuid] = field("1+", default_factory=list)
    eligible_leader_replicas: list[Int32] | None = field("2+", nullable="2+", tag=1, tagged="2+", default=None)
    last_known_elr: list[Int32] | None = field("2+", nullable="2+", tag=2, tagged="2+", default=None)
