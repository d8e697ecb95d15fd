"""How the leader of a classic group assigns partitions to its members. Pure.

Eager members revoked all their partitions before they joined, so the leader assigns them
round-robin. Cooperative members keep their partitions while the shares are even. A partition that
has to move has no owner in this generation, and gets its new owner in the next one, after the old
owner has revoked it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Claim(NamedTuple):
    """The partitions that a member claims to own, and since which generation."""

    generation: int
    owned: frozenset[int]


def share_eagerly(members: Mapping[str, Claim], partitions: int) -> dict[str, list[int]]:
    shares: dict[str, list[int]] = {member: [] for member in sorted(members)}
    names = list(shares)
    for partition in range(partitions):
        shares[names[partition % len(names)]].append(partition)
    return shares


def share_cooperatively(members: Mapping[str, Claim], partitions: int) -> dict[str, list[int]]:
    owners = _owners(members, partitions)
    shares: dict[str, list[int]] = {member: [] for member in sorted(members)}
    size_max = -(-partitions // len(shares))
    for partition, owner in sorted(owners.items()):
        if len(shares[owner]) < size_max:
            shares[owner].append(partition)
    kept = {partition for share in shares.values() for partition in share}
    wanted = {name: list(share) for name, share in shares.items()}
    for partition in range(partitions):
        if partition not in kept:
            neediest = min(wanted, key=lambda name: (len(wanted[name]), name))
            wanted[neediest].append(partition)
            if partition not in owners:
                shares[neediest].append(partition)
    return shares


def _owners(members: Mapping[str, Claim], partitions: int) -> dict[int, str]:
    """Of two members that claim a partition, the one with the later generation owns it; if the
    generations are equal, neither does (KIP-792).
    """
    owners: dict[int, str] = {}
    for partition in range(partitions):
        claims = [(claim.generation, name) for name, claim in members.items() if partition in claim.owned]
        latest = [name for generation, name in claims if generation == max(claims)[0]]
        if len(latest) == 1:
            owners[partition] = latest[0]
    return owners
