"""The target assignment, in tasks, of one member of a streams group."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int32, String


@coordinator_key(key=21, versions="0", flexible="none")
class StreamsGroupTargetAssignmentMemberKey:
    group_id: String = field("0")
    member_id: String = field("0")


@struct
class TaskIds:
    subtopology_id: String = field()
    partitions: list[Int32] = field()


@coordinator_value(key=21, versions="0", flexible="0+")
class StreamsGroupTargetAssignmentMemberValue:
    active_tasks: list[TaskIds] = field()
    standby_tasks: list[TaskIds] = field()
    warmup_tasks: list[TaskIds] = field()
