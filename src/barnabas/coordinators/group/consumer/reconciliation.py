"""How a member gets from what it owns to what it shall own: revoke before assign, and nothing is given while another has it.

    state                  what it says                           becomes
    STABLE                 target of its epoch                    STABLE
    STABLE, UNRELEASED     target wants partitions back           UNREVOKED, in its old epoch
    UNREVOKED              still owns what it shall give up       UNREVOKED
    UNREVOKED              gave it up                             as if STABLE, towards the newest target
    any but UNREVOKED      all of the target is free or its own   STABLE, in the target's epoch
    any but UNREVOKED      somebody else still has some of it     UNRELEASED, in the target's epoch, with the rest
    UNKNOWN                owns something, or does not say        fenced: it must come back with nothing

Pure functions of one member; who else owns what comes in as a question.
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
    """The member's next ownership; None fences it.

    ``reported`` is what the member says it owns, None when it says nothing; ``free`` whether nobody else owns a partition.
    """
    owns_some_of = _owns_some_of(reported)
    match ownership.state:
        case MemberState.STABLE if ownership.epoch == target_epoch:
            return _drop_unsubscribed(ownership, subscribed_ids, owns_some_of) if subscription_changed else ownership
        case MemberState.UNREVOKED_PARTITIONS if owns_some_of(ownership.revoking):
            return _drop_unsubscribed(ownership, subscribed_ids, owns_some_of) if subscription_changed else ownership
        case MemberState.UNKNOWN if reported is None or reported:
            return None
    # A member that dropped a topic must not be given it by a target that is not yet computed anew.
    wanted = {slot for slot in target if slot[0] in subscribed_ids}
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
    """Partitions of topics the member no longer subscribes to are taken from it at once, before there is a new target."""
    unwanted = {slot: epoch for slot, epoch in ownership.assigned.items() if slot[0] not in subscribed_ids}
    if not unwanted:
        return ownership
    kept = {slot: epoch for slot, epoch in ownership.assigned.items() if slot not in unwanted}
    revoking = {**ownership.revoking, **unwanted}
    if owns_some_of(revoking):
        return ownership.at(ownership.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    return ownership.at(ownership.epoch, ownership.state, kept, ownership.revoking)


def _owns_some_of(reported: AbstractSet[IdPartition] | None) -> Callable[[OwnedPartitions], bool]:
    """Silence is no proof of revocation."""
    return lambda partitions: reported is None or any(slot in reported for slot in partitions)
