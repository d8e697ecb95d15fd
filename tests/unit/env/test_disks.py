"""Both disks, the operating system's and the simulated one, keep the promises of the port."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from barnabas.env.disk import Disk, DiskFile, FileReplaced, write_atomically
from barnabas.env.real_disk import RealDisk
from barnabas.simulation.disk import SimulatedDisk
from tests.unit.records.made import repeatable


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return RealDisk() if request.param == "real" else SimulatedDisk(Random(0))


@pytest.fixture
def root(disk: Disk, tmp_path: Path) -> str:
    disk.make_directory(str(tmp_path))
    return str(tmp_path)


def put(disk: Disk, path: str, content: bytes) -> None:
    file = disk.open(path)
    file.write_at(0, content)
    file.close()


def test_opening_creates_an_empty_file(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    assert disk.exists(f"{root}/a")
    assert (file.size_bytes(), file.path, disk.read(f"{root}/a")) == (0, f"{root}/a", b"")
    file.close()


def test_a_write_is_visible_to_every_reader_at_once(disk: Disk, root: str) -> None:
    writer, reader = disk.open(f"{root}/a"), disk.open(f"{root}/a")
    writer.write_at(0, b"hello")
    writer.write_at(3, memoryview(b"p us"))
    assert reader.read_at(0, 100) == b"help us"
    assert reader.read_at(5, 2) == b"us"
    assert reader.read_at(7, 5) == b""
    assert (disk.size_bytes(f"{root}/a"), disk.read(f"{root}/a")) == (7, b"help us")
    writer.close()
    reader.close()


def test_a_write_behind_the_end_leaves_zeros_between(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.write_at(3, bytearray(b"x"))
    assert file.read_at(0, 9) == b"\x00\x00\x00x"
    file.close()


def test_truncating_cuts_and_grows(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.write_at(0, b"hello")
    file.truncate(2)
    assert disk.read(f"{root}/a") == b"he"
    file.truncate(4)
    assert disk.read(f"{root}/a") == b"he\x00\x00"
    file.sync()
    file.close()


def test_a_closed_file_opens_itself_again(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.write_at(0, b"hello")
    file.close()
    assert file.read_at(0, 5) == b"hello"
    file.write_at(5, b"!")
    file.close()
    file.close()
    assert disk.read(f"{root}/a") == b"hello!"


def test_a_closed_file_that_was_removed_is_not_found_and_not_created(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.close()
    disk.remove(f"{root}/a")
    with pytest.raises(FileNotFoundError):
        file.read_at(0, 1)
    assert not disk.exists(f"{root}/a")


def test_an_open_file_outlives_its_name(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.write_at(0, b"hello")
    disk.remove(f"{root}/a")
    assert file.read_at(0, 5) == b"hello"
    file.close()


def test_a_held_file_outlives_its_name_and_its_closing(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.write_at(0, b"hello")
    held, held_if_open = file.hold(), file.hold_if_open()
    file.close()
    disk.remove(f"{root}/a")
    assert held.read_at(0, 5) == b"hello"
    assert held_if_open is not None
    assert held_if_open.read_at(1, 100) == b"ello"
    assert file.hold_if_open() is None
    with pytest.raises(FileNotFoundError):
        file.read_at(0, 5)


def test_a_closed_file_does_not_touch_another_file_that_took_its_name(disk: Disk, root: str) -> None:
    file, other = disk.open(f"{root}/a"), disk.open(f"{root}/b")
    file.write_at(0, b"hello")
    other.write_at(0, b"other")
    file.close()
    disk.rename(f"{root}/b", f"{root}/a")
    deeds: list[Callable[[], object]] = [
        file.size_bytes,
        lambda: file.read_at(0, 5),
        lambda: file.write_at(0, b"wrong"),
        lambda: file.truncate(0),
        file.sync,
        file.hold,
    ]
    for deed in deeds:
        with pytest.raises(FileReplaced):
            deed()
    assert disk.read(f"{root}/a") == b"other"
    other.close()


def test_a_renamed_file_is_found_under_its_new_name(disk: Disk, root: str) -> None:
    file = disk.open(f"{root}/a")
    file.write_at(0, b"hello")
    disk.rename(f"{root}/a", f"{root}/b")
    file.moved_to(f"{root}/b")
    file.close()
    assert (file.path, file.read_at(0, 5)) == (f"{root}/b", b"hello")
    file.close()


def test_a_rename_replaces_its_target(disk: Disk, root: str) -> None:
    put(disk, f"{root}/a", b"new")
    put(disk, f"{root}/b", b"old")
    disk.rename(f"{root}/a", f"{root}/b")
    assert (disk.names(root), disk.read(f"{root}/b")) == (["b"], b"new")
    with pytest.raises(FileNotFoundError):
        disk.rename(f"{root}/a", f"{root}/c")


def test_a_directory_is_renamed_with_everything_in_it(disk: Disk, root: str) -> None:
    disk.make_directory(f"{root}/one")
    put(disk, f"{root}/one/a", b"x")
    disk.rename(f"{root}/one", f"{root}/two")
    assert disk.read(f"{root}/two/a") == b"x"
    assert not disk.exists(f"{root}/one")


def test_names_are_sorted_and_directories_distinguished(disk: Disk, root: str) -> None:
    for name in ("b", "a", "c"):
        put(disk, f"{root}/{name}", b"")
    disk.make_directory(f"{root}/bb")
    assert disk.names(root) == ["a", "b", "bb", "c"]
    assert (disk.is_directory(f"{root}/bb"), disk.is_directory(f"{root}/a"), disk.is_directory(f"{root}/none")) == (True, False, False)


def test_making_a_directory_makes_its_parents_and_may_repeat(disk: Disk, root: str) -> None:
    for _ in range(2):
        disk.make_directory(f"{root}/x/y/z")
    assert disk.is_directory(f"{root}/x/y/z")
    disk.sync_directory(f"{root}/x/y")


def test_removing_a_directory_removes_everything_in_it(disk: Disk, root: str) -> None:
    disk.make_directory(f"{root}/x/y")
    put(disk, f"{root}/x/a", b"")
    put(disk, f"{root}/x/y/b", b"")
    disk.remove_directory(f"{root}/x")
    assert disk.names(root) == []
    disk.remove(f"{root}/never was")


def test_reading_a_missing_file_raises(disk: Disk, root: str) -> None:
    for act in (disk.read, disk.size_bytes, disk.names, disk.sync_directory):
        with pytest.raises(FileNotFoundError):
            act(f"{root}/none")
    with pytest.raises(FileNotFoundError):
        disk.open(f"{root}/none/a")


def test_a_lock_has_one_holder(disk: Disk, root: str) -> None:
    lock = disk.lock(f"{root}/.lock")
    assert lock is not None
    assert disk.lock(f"{root}/.lock") is None
    lock.release()
    again = disk.lock(f"{root}/.lock")
    assert again is not None
    again.release()
    assert disk.names(root) == [".lock"]


def test_an_atomic_write_replaces_any_earlier_content(disk: Disk, root: str) -> None:
    put(disk, f"{root}/file.tmp", b"the rest of an older attempt, which was longer")
    write_atomically(disk, f"{root}/file", b"one")
    write_atomically(disk, f"{root}/file", b"another")
    assert (disk.names(root), disk.read(f"{root}/file")) == (["file"], b"another")


@settings(repeatable, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("write"), st.integers(0, 40), st.binary(max_size=20)),
            st.tuples(st.just("truncate"), st.integers(0, 50), st.just(b"")),
            st.tuples(st.just("close"), st.just(0), st.just(b"")),
            st.tuples(st.just("sync"), st.just(0), st.just(b"")),
        ),
        max_size=20,
    )
)
def test_the_simulated_disk_equals_the_real_one_after_any_operations(tmp_path: Path, steps: list[tuple[str, int, bytes]]) -> None:
    real, simulated = RealDisk(), SimulatedDisk(Random(0))
    simulated.make_directory(str(tmp_path))
    path = f"{tmp_path}/file"
    real.remove(path)
    files: list[DiskFile] = [real.open(path), simulated.open(path)]
    for kind, number, content in steps:
        for file in files:
            match kind:
                case "write":
                    file.write_at(number, content)
                case "truncate":
                    file.truncate(number)
                case "close":
                    file.close()
                case _:
                    file.sync()
        assert real.read(path) == simulated.read(path)
        assert files[0].size_bytes() == files[1].size_bytes()
    files[0].close()
