"""How the simulated leader of a classic group assigns partitions."""

from __future__ import annotations

from barnabas.simulation.partition_sharing import Claim, share_cooperatively, share_eagerly

NOTHING = Claim(-1, frozenset())


def test_eager_partitions_are_assigned_round_robin() -> None:
    assert share_eagerly({"b": NOTHING, "a": NOTHING}, 3) == {"a": [0, 2], "b": [1]}


def test_a_moving_partition_has_no_owner_until_the_old_one_revoked_it() -> None:
    crowded = {"a": Claim(1, frozenset({0, 1, 2})), "b": NOTHING}
    assert share_cooperatively(crowded, 3) == {"a": [0, 1], "b": []}
    assert share_cooperatively({"a": Claim(2, frozenset({0, 1})), "b": NOTHING}, 3) == {"a": [0, 1], "b": [2]}


def test_members_keep_their_partitions_while_the_shares_are_even() -> None:
    members = {"a": Claim(1, frozenset({2})), "b": Claim(1, frozenset({0, 1}))}
    assert share_cooperatively(members, 3) == {"a": [2], "b": [0, 1]}


def test_the_claim_of_a_later_generation_wins() -> None:
    members = {"a": Claim(1, frozenset({0})), "b": Claim(2, frozenset({0}))}
    assert share_cooperatively(members, 1) == {"a": [], "b": [0]}


def test_a_partition_claimed_twice_in_one_generation_has_no_owner() -> None:
    members = {"a": Claim(1, frozenset({0})), "b": Claim(1, frozenset({0}))}
    assert share_cooperatively(members, 1) == {"a": [0], "b": []}
