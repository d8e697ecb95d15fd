"""Files and connections share the process's descriptors: connections come first, and neither
starves the other.
"""

from __future__ import annotations

import errno

import pytest

from barnabas.env.descriptors import OTHERS, RETRIES_MAX, Descriptors


def test_files_get_the_descriptors_that_connections_leave() -> None:
    budget, followed = Descriptors(1024), list[int]()
    budget.attend(followed.append, lambda: False)
    assert budget.take(for_node=False)
    budget.add()
    budget.give_back()
    assert followed == [1024 - OTHERS - taken for taken in (0, 1, 2, 1)]


def test_a_limit_of_1024_affords_hundreds_of_connections_and_some_files() -> None:
    budget = Descriptors(1024)
    count = 0
    while budget.take(for_node=False):
        count += 1
    assert count == budget.connections_max - budget.kept_for_nodes == 788
    assert budget.files_max == 1024 - OTHERS - 788


def test_clients_leave_connections_for_the_nodes_of_the_cluster() -> None:
    budget = Descriptors(1024)
    while budget.take(for_node=False):
        pass
    for _ in range(budget.kept_for_nodes):
        assert budget.take(for_node=True)
    assert not budget.take(for_node=True)
    assert budget.files_max == budget.files_min == 120
    budget.give_back()
    assert not budget.take(for_node=False)
    assert budget.take(for_node=True)


@pytest.mark.parametrize("limit", [16, 256, 512, 1024, 20_000, 1 << 20])
def test_every_limit_leaves_room_for_files_and_connections(limit: int) -> None:
    budget = Descriptors(limit)
    assert budget.files_min >= 64
    assert budget.connections_max >= 16
    assert limit < 256 or OTHERS + budget.files_min + budget.connections_max <= limit


def test_connections_of_our_own_are_never_refused_and_files_keep_their_minimum() -> None:
    budget = Descriptors(256)
    for _ in range(300):
        budget.add()
    assert budget.files_max == budget.files_min
    assert not budget.take(for_node=True)


def test_descriptors_are_scarce_when_half_of_the_connections_are_open() -> None:
    budget = Descriptors(1024)
    for _ in range(budget.connections_max // 2):
        assert not budget.scarce
        budget.add()
    budget.add()
    assert budget.scarce


def test_a_call_that_finds_no_descriptor_is_repeated_while_files_can_be_closed() -> None:
    budget, files, calls = Descriptors(1024), [2], [0]

    def make_room() -> bool:
        files[0] -= 1
        return files[0] >= 0

    def opens(number: int) -> int:
        calls[0] += 1
        if files[0] > 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return number

    budget.attend(lambda _: None, make_room)
    assert (budget.call(opens, 7), calls[0]) == (7, 3)


def test_a_call_fails_when_closing_files_does_not_help() -> None:
    budget, calls = Descriptors(1024), [0]

    def opens(number: int) -> None:
        calls[0] += 1
        raise OSError(number, "no")

    with pytest.raises(OSError, match="no"):
        budget.call(opens, errno.EMFILE)
    budget.attend(lambda _: None, lambda: True)
    with pytest.raises(OSError, match="no"):
        budget.call(opens, errno.ENFILE)
    with pytest.raises(OSError, match="no"):
        budget.call(opens, errno.ENOENT)
    assert calls == [1 + RETRIES_MAX + 1 + 1]
