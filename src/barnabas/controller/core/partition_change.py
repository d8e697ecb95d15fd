"""A change of a partition: its in-sync and eligible replicas, its leader, its epochs.

Every change of an existing partition is computed here, whether a broker goes, a leader reports its
in-sync replicas, or an operator moves replicas or elects a leader. The steps, in this order:

    reassignment done?  ->  eligible replicas  ->  election  ->  a record of the differences

A leader comes from the in-sync replicas. Where none is left, it comes from the *eligible* ones
(KIP-966): they were in sync when the set fell below ``min.insync.replicas``, and below that no
record is acknowledged, so they have all acknowledged records. Where none of those is left either,
the last leader may lead again: it has the most records, though maybe not all, so it leads
*recovering*. Any other replica may lead only if unclean elections are allowed: acknowledged records
are lost then.

Without eligible replicas (feature level 0) the last in-sync replica never leaves the set, since it
alone is known to have everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import Enum, auto
from typing import NamedTuple

from barnabas.metadata.topics import NO_LEADER_CHANGE, RECOVERING, RECOVERY_UNCHANGED, PartitionImage
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import NO_NODE, ZERO_UUID, Uuid
from barnabas.wire.metadata_records import PartitionChangeRecord


class Election(Enum):
    ONLINE = auto()  # the leader stays if it can; otherwise the first replica that may lead
    PREFERRED = auto()  # the first replica leads if it may
    UNCLEAN = auto()  # as ONLINE, and any live replica rather than no leader


@dataclass(frozen=True, slots=True)
class Wanted:
    """The requested state of a partition. None leaves a field as it is."""

    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    recovery_state: int | None = None
    directories: Mapping[int, Uuid] = field(default_factory=dict)  # of some replicas
    lost_their_tail: frozenset[int] = frozenset()  # restarted uncleanly, so they are not eligible


@dataclass(frozen=True, slots=True)
class Circumstances:
    can_lead: Callable[[int], bool]
    default_directory: Callable[[int], Uuid]
    election: Election
    min_isr: int  # never more than there are replicas
    eligible_enabled: bool


class _Assignment(NamedTuple):
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing: tuple[int, ...]
    adding: tuple[int, ...]


class _Elected(NamedTuple):
    leader: int
    unclean: bool


def partition_change(
    topic_id: Uuid, index: int, partition: PartitionImage, wanted: Wanted, circumstances: Circumstances
) -> PartitionChangeRecord | None:
    """The record that brings ``partition`` as close to the wanted state as the circumstances allow;
    None if nothing changes."""
    assignment = _reassigned(
        _Assignment(
            partition.replicas if wanted.replicas is None else wanted.replicas,
            partition.isr if wanted.isr is None else wanted.isr,
            partition.removing_replicas if wanted.removing is None else wanted.removing,
            partition.adding_replicas if wanted.adding is None else wanted.adding,
        )
    )
    eligible = _eligible(partition, assignment, wanted.lost_their_tail, circumstances)
    elected = _elect(partition, assignment, eligible, circumstances)
    isr = assignment.isr
    recovery_state = partition.leader_recovery_state if wanted.recovery_state is None else wanted.recovery_state
    if elected.unclean:
        # From its first batch on no other replica has the same log.
        isr, eligible, recovery_state = (elected.leader,), (), RECOVERING
    elif not isr and elected.leader != NO_NODE:
        isr, eligible = (elected.leader,), tuple(each for each in eligible if each != elected.leader)
    elif not isr and not circumstances.eligible_enabled:
        isr = partition.isr
    # A follower that is removed must notice that it has to stop, and it notices a new leader epoch.
    leads = elected.leader != partition.leader or not set(partition.replicas) <= set(assignment.replicas)
    last_known = _last_known_leader(partition, elected.leader, circumstances) if leads else partition.last_known_elr
    directories = _directories(partition, assignment.replicas, wanted.directories, circumstances.default_directory)
    record = PartitionChangeRecord(
        partition_id=index,
        topic_id=topic_id,
        isr=_different(isr, partition.isr),
        leader=elected.leader if leads else NO_LEADER_CHANGE,
        replicas=_different(assignment.replicas, partition.replicas),
        removing_replicas=_different(assignment.removing, partition.removing_replicas),
        adding_replicas=_different(assignment.adding, partition.adding_replicas),
        leader_recovery_state=recovery_state if recovery_state != partition.leader_recovery_state else RECOVERY_UNCHANGED,
        directories=list(directories) if directories != partition.directories else None,
        eligible_leader_replicas=_different(eligible, partition.eligible_leader_replicas),
        last_known_elr=_different(last_known, partition.last_known_elr),
    )
    return None if _is_empty(record) else record


def _is_empty(record: PartitionChangeRecord) -> bool:
    """Spelled out for speed: a broker that comes or goes needs this for each of its partitions."""
    return (
        record.leader == NO_LEADER_CHANGE
        and record.leader_recovery_state == RECOVERY_UNCHANGED
        and record.isr is None
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.directories is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
    )


def _different(now: tuple[int, ...], before: tuple[int, ...]) -> list[int] | None:
    return list(now) if now != before else None


def _reassigned(assignment: _Assignment) -> _Assignment:
    """Complete the reassignment if possible: every added replica is in sync, and at least one
    replica stays."""
    replicas, isr, removing, adding = assignment
    if not removing and not adding:
        return assignment
    staying = tuple(each for each in replicas if each not in removing)
    in_sync = tuple(each for each in isr if each not in removing)
    if not staying or not in_sync or not set(adding) <= set(in_sync):
        return assignment
    # Where the replication factor shrinks, all replicas that stay must be in sync first. Otherwise
    # the in-sync set would shrink without need.
    if len(adding) < len(removing) and not set(staying) <= set(in_sync):
        return assignment
    return _Assignment(staying, in_sync, (), ())


def _eligible(
    partition: PartitionImage, assignment: _Assignment, lost_their_tail: frozenset[int], circumstances: Circumstances
) -> tuple[int, ...]:
    """While too few replicas are in sync to acknowledge records, every replica that was in sync
    still has all acknowledged records."""
    if not circumstances.eligible_enabled or len(assignment.isr) >= circumstances.min_isr:
        return ()
    had_everything = {*partition.eligible_leader_replicas, *partition.isr}
    return tuple(sorted((had_everything & set(assignment.replicas)) - set(assignment.isr) - lost_their_tail))


def _elect(partition: PartitionImage, assignment: _Assignment, eligible: tuple[int, ...], circumstances: Circumstances) -> _Elected:
    can_lead = circumstances.can_lead
    complete = assignment.isr or eligible

    def may_lead(replica: int) -> bool:
        return replica in complete and can_lead(replica)

    if circumstances.election is Election.PREFERRED and may_lead(assignment.replicas[0]):
        return _Elected(assignment.replicas[0], unclean=False)
    if may_lead(partition.leader):
        return _Elected(partition.leader, unclean=False)
    for replica in assignment.replicas:
        if may_lead(replica):
            return _Elected(replica, unclean=False)
    if circumstances.eligible_enabled and not complete and len(partition.last_known_elr) == 1:
        (last_leader,) = partition.last_known_elr
        if last_leader in assignment.replicas and can_lead(last_leader):
            return _Elected(last_leader, unclean=True)
    if circumstances.election is Election.UNCLEAN:
        for replica in assignment.replicas:
            if can_lead(replica):
                return _Elected(replica, unclean=True)
    return _Elected(NO_NODE, unclean=False)


def _last_known_leader(partition: PartitionImage, leader: int, circumstances: Circumstances) -> tuple[int, ...]:
    """The last leader before the partition had none. It is kept in the field of the last known
    eligible replicas, which has no other use yet."""
    if not circumstances.eligible_enabled:
        return partition.last_known_elr
    if leader != NO_NODE:
        return ()
    if partition.leader == NO_NODE:
        return partition.last_known_elr
    return partition.last_known_elr or (partition.leader,)


def _directories(
    partition: PartitionImage, replicas: tuple[int, ...], moved: Mapping[int, Uuid], default: Callable[[int], Uuid]
) -> tuple[Uuid, ...]:
    if replicas == partition.replicas and not moved:
        return partition.directories
    known = dict.fromkeys(partition.replicas, ZERO_UUID)
    known.update(zip(partition.replicas, partition.directories, strict=False))
    known.update(moved)
    return tuple(known[each] if each in known else default(each) for each in replicas)
