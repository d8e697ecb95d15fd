"""The data that the simulated disk drops in a power cut, and the data that it never drops."""

from __future__ import annotations

import errno
from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, strategies as st

from barnabas.env.disk import write_atomically
from barnabas.simulation.disk import UNSYNCED_EDITS_MAX, Operation, PowerCut, SimulatedDisk
from tests.unit.records.made import repeatable

OUTCOMES = 400


def disk_with(content: bytes = b"", *, seed: int = 0) -> SimulatedDisk:
    """A disk with one durable file, /d/file."""
    disk = SimulatedDisk(Random(seed))
    disk.make_directory("/d")
    file = disk.open("/d/file")
    file.write_at(0, content)
    file.sync()
    disk.sync_directory("/d")
    disk.sync_directory("/")
    return disk


def contents(disk: SimulatedDisk, path: str = "/d/file") -> set[bytes | None]:
    """Everything that a power cut may leave of a file; None for no file."""
    outcomes = [disk.crash() for _ in range(OUTCOMES)]
    return {after.read(path) if after.exists(path) else None for after in outcomes}


# -- files


def test_synced_data_survives_any_power_cut() -> None:
    disk = disk_with(b"old")
    file = disk.open("/d/file")
    file.write_at(3, b" and new")
    file.sync()
    assert contents(disk) == {b"old and new"}


def test_an_append_may_be_lost_torn_at_any_byte_or_leave_zeros_or_garbage() -> None:
    disk = disk_with(b"old")
    disk.open("/d/file").write_at(3, b"NEW!")
    found = contents(disk)
    assert {b"old", b"oldN", b"oldNE", b"oldNEW", b"oldNEW!"} <= found
    assert {b"old\0\0\0\0", b"oldNE\0\0", b"old\0\0W!"} <= found
    assert any(each is not None and len(each) == 7 and each[3:] not in (b"NEW!", bytes(4)) and b"\0" not in each for each in found)
    assert all(each is not None and each.startswith(b"old") and len(each) <= 7 for each in found)


def test_a_later_write_may_survive_an_earlier_one() -> None:
    disk = disk_with(b"----")
    file = disk.open("/d/file")
    file.write_at(4, b"AA")
    file.write_at(6, b"BB")
    assert {b"----", b"----AA", b"----AABB", b"----\0\0BB"} <= contents(disk)


def test_a_truncation_may_be_lost_or_kept_and_new_bytes_may_lie_in_front_of_old_ones() -> None:
    disk = disk_with(b"abcdef")
    file = disk.open("/d/file")
    file.truncate(2)
    assert contents(disk) == {b"ab", b"abcdef"}
    file.write_at(2, b"X")
    assert {b"ab", b"abcdef", b"abX", b"abXdef"} <= contents(disk)
    file.sync()
    assert contents(disk) == {b"abX"}


def test_a_file_that_was_never_synced_may_be_there_and_empty() -> None:
    disk = disk_with()
    disk.open("/d/new").write_at(0, b"x")
    assert {None, b"", b"x"} <= contents(disk, "/d/new")


def test_syncing_a_file_does_not_make_its_name_durable() -> None:
    disk = disk_with()
    file = disk.open("/d/new")
    file.write_at(0, b"x")
    file.sync()
    assert contents(disk, "/d/new") == {None, b"x"}
    disk.sync_directory("/d")
    assert contents(disk, "/d/new") == {b"x"}


# -- names


def test_a_rename_shows_the_old_file_or_the_new_one_and_never_both_or_neither() -> None:
    disk = disk_with(b"old")
    file = disk.open("/d/file.tmp")
    file.write_at(0, b"new")
    file.sync()
    disk.rename("/d/file.tmp", "/d/file")
    for _ in range(OUTCOMES):
        after = disk.crash()
        assert after.read("/d/file") in (b"old", b"new")
        if after.read("/d/file") == b"new":
            assert not after.exists("/d/file.tmp")
    assert contents(disk) == {b"old", b"new"}


def test_a_rename_is_not_ordered_with_the_bytes_of_the_file() -> None:
    disk = disk_with(b"old")
    disk.open("/d/file.tmp").write_at(0, b"new")
    disk.rename("/d/file.tmp", "/d/file")
    assert {b"old", b"new", b"", b"\0\0\0"} <= contents(disk)


@pytest.mark.parametrize("seed", range(20))
def test_an_atomic_write_leaves_the_old_or_the_new_content_at_any_cut(seed: int) -> None:
    for step in range(1, 20):
        disk = disk_with(b"old", seed=seed)
        disk.crash_after(step)
        done = False
        with suppress(PowerCut):
            write_atomically(disk, "/d/file", b"new")
            done = True
        for _ in range(10):
            assert disk.crash().read("/d/file") in ({b"new"} if done else {b"old", b"new"})
        if done:
            return
    raise AssertionError("an atomic write has fewer steps than that")


def test_any_subset_of_name_changes_may_survive() -> None:
    disk = disk_with()
    for name in "ab":
        disk.open(f"/d/{name}")
    disk.remove("/d/file")
    found = {tuple(disk.crash().names("/d")) for _ in range(OUTCOMES)}
    assert found == {(*names, *rest) for names in [(), ("a",), ("b",), ("a", "b")] for rest in [(), ("file",)]}
    disk.sync_directory("/d")
    assert {tuple(disk.crash().names("/d")) for _ in range(OUTCOMES)} == {("a", "b")}


def test_a_name_used_twice_stands_for_the_later_file_or_an_earlier_one() -> None:
    disk = disk_with(b"first")
    disk.remove("/d/file")
    file = disk.open("/d/file")
    file.write_at(0, b"second")
    file.sync()
    assert contents(disk) == {None, b"first", b"second"}


def test_a_directory_is_durable_when_its_parent_was_synced() -> None:
    disk = disk_with()
    disk.make_directory("/d/inner")
    disk.open("/d/inner/file").sync()
    disk.sync_directory("/d/inner")
    assert contents(disk, "/d/inner/file") == {None, b""}
    disk.sync_directory("/d")
    assert contents(disk, "/d/inner/file") == {b""}


def test_a_renamed_directory_keeps_its_contents() -> None:
    disk = disk_with(b"x")
    disk.rename("/d", "/e")
    for _ in range(50):
        after = disk.crash()
        assert [name for name in after.names("/") if after.read(f"/{name}/file") == b"x"] in (["d"], ["e"])


# -- cuts


def test_a_power_cut_comes_before_its_operation_and_lasts() -> None:
    disk = disk_with(b"old")
    file = disk.open("/d/file")
    disk.crash_after(2)
    file.write_at(0, b"one")
    with pytest.raises(PowerCut, match="write /d/file 3 bytes at 0"):
        file.write_at(0, b"two")
    assert disk.recent[-1].endswith("write /d/file 3 bytes at 0")
    for act in (lambda: file.read_at(0, 1), lambda: disk.names("/d"), lambda: disk.remove("/d/file"), file.sync):
        with pytest.raises(PowerCut):
            act()
    file.close()
    assert {b"old", b"one"} <= contents(disk)
    assert b"two" not in contents(disk)


def test_no_ordinary_handler_survives_a_power_cut() -> None:
    assert not issubclass(PowerCut, Exception)


def test_reading_does_not_count_as_an_operation() -> None:
    disk = disk_with(b"x")
    before = disk.operations
    disk.open("/d/file").read_at(0, 1)
    disk.names("/d")
    disk.exists("/d/none")
    disk.make_directory("/d")
    disk.remove("/d/none")
    assert disk.operations == before


def test_a_kill_loses_nothing_and_makes_nothing_durable() -> None:
    disk = disk_with(b"old")
    file = disk.open("/d/file")
    file.write_at(0, b"new")
    disk.open("/d/other")
    disk.lock("/d/.lock")
    disk.crash_after(99)
    after = disk.kill()
    assert (after.read("/d/file"), after.names("/d")) == (b"new", [".lock", "file", "other"])
    assert after.lock("/d/.lock") is not None
    assert {b"old", b"new"} <= contents(after)
    assert contents(after, "/d/other") == {None, b""}
    file.write_at(0, b"later")
    assert after.read("/d/file") == b"new", "two worlds"
    after.open("/d/file").sync()
    assert contents(after) == {b"new"}


@repeatable
@given(st.integers(0, 2**32))
def test_one_seed_gives_one_world(seed: int) -> None:
    def outcome() -> list[tuple[str, bytes]]:
        disk = disk_with(b"0123456789", seed=seed)
        for n in range(5):
            file = disk.open(f"/d/{n}")
            file.write_at(0, bytes([n]) * 1000)
            disk.rename(f"/d/{n}", f"/d/{n}{n}")
        after = disk.crash()
        return [(name, after.read(f"/d/{name}")) for name in after.names("/d")]

    assert outcome() == outcome()


def test_data_that_survived_one_cut_survives_the_next() -> None:
    disk = disk_with(b"old")
    disk.open("/d/file").write_at(3, b"new")
    for _ in range(50):
        after = disk.crash()
        assert contents(after) == {after.read("/d/file")}


def test_the_kernel_writes_out_old_unsynced_data() -> None:
    disk = disk_with()
    file = disk.open("/d/file")
    for n in range(UNSYNCED_EDITS_MAX + 10):
        file.write_at(n, b"x")
    assert all(each is not None and each.startswith(b"x" * 10) for each in contents(disk))


# -- faults


def test_injected_faults_hit_the_chosen_operations_and_paths() -> None:
    disk = disk_with(b"old")
    disk.open("/d/other").write_at(0, b"x")
    disk.fail_with(errno.ENOSPC, [Operation.WRITE], path_part="file", after=1, times=2)
    file = disk.open("/d/file")
    file.write_at(0, b"one")
    for _ in range(2):
        with pytest.raises(OSError, match="No space left") as failed:
            file.write_at(0, b"two")
        assert failed.value.errno == errno.ENOSPC
    file.write_at(0, b"six")
    disk.open("/d/other").write_at(0, b"y")
    assert file.read_at(0, 3) == b"six"


def test_reads_can_fail_until_the_fault_is_removed() -> None:
    disk = disk_with(b"old")
    disk.fail_with(errno.EIO, [Operation.READ])
    with pytest.raises(OSError, match="Input/output"):
        disk.read("/d/file")
    with pytest.raises(OSError, match="Input/output"):
        disk.open("/d/file").read_at(0, 1)
    disk.stop_failing()
    assert disk.read("/d/file") == b"old"


def test_a_full_disk_takes_the_beginning_of_a_write() -> None:
    found = set()
    for seed in range(60):
        disk = disk_with(b"old", seed=seed)
        disk.fail_with(errno.ENOSPC, [Operation.WRITE])
        with pytest.raises(OSError, match="No space"):
            disk.open("/d/file").write_at(3, b"new")
        found.add(disk.read("/d/file"))
    assert found == {b"old", b"oldn", b"oldne", b"oldnew"}


def test_a_sync_after_a_failed_one_succeeds_without_writing() -> None:
    disk = disk_with(b"old")
    file = disk.open("/d/file")
    file.write_at(0, b"new")
    disk.fail_with(errno.EIO, [Operation.SYNC], times=1)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert file.read_at(0, 3) == b"new"
    file.sync()
    assert b"old" in contents(disk)


def test_a_flipped_bit_stays_flipped() -> None:
    disk = disk_with(b"abc")
    disk.flip_bit("/d/file", 1, 3)
    assert disk.read("/d/file") == b"ajc"
    assert contents(disk) == {b"ajc"}


def test_a_simulated_file_cannot_be_sent_by_the_kernel() -> None:
    with pytest.raises(OSError, match="no descriptor"):
        disk_with().open("/d/file").hold().descriptor()
