"""A change in a partition; absent tags mean *unchanged*."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8, Int32, Uuid


@metadata_record(key=5, versions="0-2", flexible="0+")
class PartitionChangeRecord:
    partition_id: Int32 = field(default=-1)
    topic_id: Uuid = field()
    isr: list[Int32] | None = field(nullable="0+", tag=0, tagged="0+", default=None)
    leader: Int32 = field(tag=1, tagged="0+", default=-2)
    replicas: list[Int32] | None = field(nullable="0+", tag=2, tagged="0+", default=None)
    removing_replicas: list[Int32] | None = field(nullable="0+", tag=3, tagged="0+", default=None)
    adding_replicas: list[Int32] | None = field(nullable="0+", tag=4, tagged="0+", default=None)
    leader_recovery_state: Int8 = field(tag=5, tagged="0+", default=-1)
    directories: list[Uuid] | None = field("1+", nullable="1+", tag=8, tagged="1+", default=None)
    eligible_leader_replicas: list[Int32] | None = field("2+", nullable="2+", tag=6, tagged="2+", default=None)
    last_known_elr: list[Int32] | None = field("2+", nullable="2+", tag=7, tagged="2+", default=None)
