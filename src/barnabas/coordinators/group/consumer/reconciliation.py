"""Reconciliation of a member's partitions with its target: revoke before assign, and never assign a
partition that another member owns.

    state               event                                 next
    STABLE              target of its epoch                   STABLE
    STABLE, UNRELEASED  target lacks partitions it owns       UNREVOKED, in its old epoch
    UNREVOKED           still owns partitions to revoke       UNREVOKED
    UNREVOKED           has revoked them                      as if STABLE, to the newest target
    any but UNREVOKED   its target is free or its own         STABLE, in the target epoch
    any but UNREVOKED   other members own a part of it        UNRELEASED, in the target epoch
    UNKNOWN             reports partitions, or sends no list  fenced: it must rejoin without any

The functions are pure and concern one member; ``free`` answers for the other members.
"""

from __future__ import annotations

from collections.abc import Callable, Set as AbstractSet

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer.member import MemberState, OwnedPartitions, Ownership
from barnabas.model.ids import Uuid


def reconcile(
    ownership: Ownership,
    *,
    target_epoch: int,
    target: AbstractSet[IdPartition],
    reported: AbstractSet[IdPartition] | None,
    subscribed_ids: AbstractSet[Uuid],
    subscription_changed: bool,
    free: Callable[[IdPartition], bool],
) -> Ownership | None:
    """The next ownership of the member; None fences it.

    ``reported`` are the partitions that the member reports, None if it reports nothing; ``free``
    tells whether no other member owns a partition.
    """
    owns_some_of = _owns_some_of(reported)
    match ownership.state:
        case MemberState.STABLE if ownership.epoch == target_epoch:
            return _drop_unsubscribed(ownership, subscribed_ids, owns_some_of) if subscription_changed else ownership
        case MemberState.UNREVOKED_PARTITIONS if owns_some_of(ownership.revoking):
            return _drop_unsubscribed(ownership, subscribed_ids, owns_some_of) if subscription_changed else ownership
        case MemberState.UNKNOWN if reported is None or reported:
            return None
    # A member that dropped a topic must not get its partitions from a target that was computed
    # before.
    wanted = {slot for slot in target if slot[0] in subscribed_ids}
    if ownership.assigned.keys() == wanted:
        return ownership.at(target_epoch, MemberState.STABLE, ownership.assigned)
    kept = {slot: epoch for slot, epoch in ownership.assigned.items() if slot in wanted}
    unwanted = {slot: epoch for slot, epoch in ownership.assigned.items() if slot not in wanted}
    if unwanted and owns_some_of(unwanted):
        return ownership.at(ownership.epoch, MemberState.UNREVOKED_PARTITIONS, kept, unwanted)
    missing = wanted - kept.keys()
    given = {slot for slot in missing if free(slot)}
    state = MemberState.STABLE if len(given) == len(missing) else MemberState.UNRELEASED_PARTITIONS
    return ownership.at(target_epoch, state, kept | dict.fromkeys(given, target_epoch))


def _drop_unsubscribed(
    ownership: Ownership, subscribed_ids: AbstractSet[Uuid], owns_some_of: Callable[[OwnedPartitions], bool]
) -> Ownership:
    """Revoke partitions of topics that the member no longer subscribes to at once, before there is
    a new target.
    """
    unwanted = {slot: epoch for slot, epoch in ownership.assigned.items() if slot[0] not in subscribed_ids}
    if not unwanted:
        return ownership
    kept = {slot: epoch for slot, epoch in ownership.assigned.items() if slot not in unwanted}
    revoking = {**ownership.revoking, **unwanted}
    if owns_some_of(revoking):
        return ownership.at(ownership.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    return ownership.at(ownership.epoch, ownership.state, kept, ownership.revoking)


def _owns_some_of(reported: AbstractSet[IdPartition] | None) -> Callable[[OwnedPartitions], bool]:
    """A heartbeat without partitions does not prove revocation."""
    return lambda partitions: reported is None or any(slot in reported for slot in partitions)
