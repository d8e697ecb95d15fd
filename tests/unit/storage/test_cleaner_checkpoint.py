"""Each directory has a checkpoint of the cleaned offsets of its logs, and no checkpoint is ever too
high.
"""

from __future__ import annotations

from barnabas.env.disk import Disk
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.storage.checkpoints import CLEANER_OFFSETS, read_offsets
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from tests.unit.storage.logs import NOW_MS, SMALL, append, data, new_disk

TOPIC_ID = Uuid(b"t" * 16)
PATH = "/data"
ONE, OTHER = TopicPartition("one", 0), TopicPartition("other", 0)


def opened(disk: Disk) -> LogDirectory:
    directory = LogDirectory(disk, PATH, Uuid(b"d" * 16))
    list(directory.open_logs(lambda _: SMALL, clean=False, now_ms=NOW_MS))
    return directory


def with_log(directory: LogDirectory, partition: TopicPartition) -> Log:
    log = directory.create(partition, TOPIC_ID, SMALL, now_ms=NOW_MS)
    directory.add(log)
    for _ in range(30):
        append(log, data())
    log.flush()
    return log


def write(directory: LogDirectory) -> bool:
    checkpoint = directory.cleaner_checkpoint()
    if checkpoint is not None:
        checkpoint()
    return checkpoint is not None


def written(disk: Disk) -> dict[TopicPartition, int]:
    return read_offsets(disk, f"{PATH}/{CLEANER_OFFSETS}")


def test_only_logs_that_were_compacted_have_a_line_and_nothing_is_written_twice() -> None:
    disk = new_disk()
    directory = opened(disk)
    one, _ = with_log(directory, ONE), with_log(directory, OTHER)
    assert not write(directory)
    one.cleaned_to = 20
    assert write(directory)
    assert written(disk) == {ONE: 20}
    assert not write(directory)
    assert not write(opened(disk))


def test_a_log_is_opened_with_its_cleaner_checkpoint() -> None:
    disk = new_disk()
    directory = opened(disk)
    with_log(directory, ONE).cleaned_to = 20
    with_log(directory, OTHER)
    write(directory)
    found = opened(disk).logs
    assert (found[ONE].cleaned_to, found[OTHER].cleaned_to) == (20, None)


def test_a_deleted_partition_leaves_no_line_for_one_of_the_same_name() -> None:
    disk = new_disk()
    directory = opened(disk)
    for partition in (ONE, OTHER):
        with_log(directory, partition).cleaned_to = 20
    write(directory)
    directory.mark_deleted(ONE, Uuid(b"u" * 16))
    # As happens before a log of that name is created.
    directory.write_down_bounds({})()
    assert written(disk) == {OTHER: 20}


def test_truncating_a_log_lowers_its_cleaner_checkpoint_and_recovery_point() -> None:
    disk = new_disk()
    directory = opened(disk)
    log = with_log(directory, ONE)
    log.cleaned_to = 20
    write(directory)
    log.truncate_to(25)
    assert log.cleaned_to == 20
    log.truncate_to(15)
    directory.write_recovery_points()
    assert written(disk) == {ONE: 15}
    log.truncate_fully(40)
    directory.write_recovery_points()
    assert written(disk) == {}
