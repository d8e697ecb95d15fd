"""How the simulated leader of a classic group shares partitions."""

from __future__ import annotations

from barnabas.simulation.partition_sharing import Claim, share_cooperatively, share_eagerly

NOTHING = Claim(-1, frozenset())


def test_eager_shares_go_round() -> None:
    assert share_eagerly({"b": NOTHING, "a": NOTHING}, 3) == {"a": [0, 2], "b": [1]}


def test_a_partition_that_moves_is_given_to_no_member_until_its_owner_gave_it_up() -> None:
    crowded = {"a": Claim(1, frozenset({0, 1, 2})), "b": NOTHING}
    assert share_cooperatively(crowded, 3) == {"a": [0, 1], "b": []}
    assert share_cooperatively({"a": Claim(2, frozenset({0, 1})), "b": NOTHING}, 3) == {"a": [0, 1], "b": [2]}


def test_members_keep_what_they_have_while_the_shares_are_even() -> None:
    members = {"a": Claim(1, frozenset({2})), "b": Claim(1, frozenset({0, 1}))}
    assert share_cooperatively(members, 3) == {"a": [2], "b": [0, 1]}


def test_the_claim_of_a_later_generation_wins() -> None:
    members = {"a": Claim(1, frozenset({0})), "b": Claim(2, frozenset({0}))}
    assert share_cooperatively(members, 1) == {"a": [], "b": [0]}


def test_a_partition_that_two_members_claim_alike_has_no_owner() -> None:
    members = {"a": Claim(1, frozenset({0})), "b": Claim(1, frozenset({0}))}
    assert share_cooperatively(members, 1) == {"a": [0], "b": []}
