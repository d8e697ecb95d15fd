"""A broker that is stopped, killed while it copies, or cut off from its remote store loses nothing
that was acknowledged.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.tiered.metadata.events import decode_event
from barnabas.tiered.metadata.segment_metadata import RemotePartitionDelete
from tests.scenarios.client import Client
from tests.scenarios.tiered.tiered_broker import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST_TIERED,
    RECORDS_PER_SEGMENT,
    TIERED,
    fill,
    local_logs,
    remote_logs,
    tiered_broker,
    value_of,
    wait_until_settled,
    wait_until_tiered,
)
from tests.waiting import until

SHORT_KILLS, LONG_KILLS = 1, 8


def assert_all_there(client: Client, topic: str, end: int) -> None:
    # A broker that has just started may not have read the metadata of remote segments yet.
    until(lambda: client.fetch(topic, offset=0).error_code == 0, "the catalogue is read again")
    assert client.values(topic) == [value_of(number) for number in range(end)]


def test_the_log_has_the_same_start_after_a_stop(tmp_path: Path) -> None:
    with tiered_broker(tmp_path) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t", 1, TIERED)
            end = fill(client, "t", 5)
            wait_until_tiered(client, "t", 2 * RECORDS_PER_SEGMENT)
            local, tiered = (client.end_offset("t", timestamp=each) for each in (EARLIEST_LOCAL, LATEST_TIERED))
        kafka.stop()
        kafka.start()
        with Client(kafka.bootstrap) as client:
            assert client.end_offset("t", timestamp=EARLIEST) == 0
            assert client.end_offset("t", timestamp=EARLIEST_LOCAL) >= local
            assert_all_there(client, "t", end)
            assert client.end_offset("t", timestamp=LATEST_TIERED) >= tiered
            end = fill(client, "t", 2, first=end)
            wait_until_tiered(client, "t", 4 * RECORDS_PER_SEGMENT)
            assert_all_there(client, "t", end)


@pytest.mark.parametrize("kills", [SHORT_KILLS, pytest.param(LONG_KILLS, marks=pytest.mark.soak)])
def test_a_broker_that_is_killed_while_it_copies_continues_and_has_everything(tmp_path: Path, kills: int) -> None:
    """At this rate a copy is always in progress."""
    with tiered_broker(tmp_path, process=True, remote_log_manager_copy_max_bytes_per_second="3000000") as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t", 1, TIERED)
        end = 0
        for _ in range(kills):
            with Client(kafka.bootstrap) as client:
                copied = len(remote_logs(tmp_path))
                end = fill(client, "t", 3, first=end)
                until(lambda copied=copied: len(remote_logs(tmp_path)) > copied, "another segment is copied")  # type: ignore[misc]
            kafka.kill()
            kafka.start()
        with Client(kafka.bootstrap) as client:
            assert client.end_offset("t", timestamp=EARLIEST) == 0
            wait_until_tiered(client, "t", end - 2 * RECORDS_PER_SEGMENT)
            assert_all_there(client, "t", end)


def away(store: Path) -> Path:
    """Moves the store away, so that nothing can be stored or found."""
    moved = store.rename(store.with_name("away"))
    store.write_text("a file where the store was")
    return moved


def back(store: Path, moved: Path) -> None:
    store.unlink()
    moved.rename(store)


def test_an_unreachable_store_slows_no_local_work_and_keeps_all_segments_on_the_disk(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with tiered_broker(store) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t", 1, TIERED)
        end = fill(client, "t", 4)
        wait_until_settled(client, "t", 4)
        moved = away(store)
        end = fill(client, "t", 4, first=end)
        wait_until_tiered(client, "t", 3 * RECORDS_PER_SEGMENT)
        tiered, segments = client.end_offset("t", timestamp=LATEST_TIERED), len(local_logs(kafka, "t"))
        assert segments >= 4
        local = client.end_offset("t", timestamp=EARLIEST_LOCAL)
        assert client.values("t", offset=local) == [value_of(number) for number in range(local, end)]
        assert client.fetch("t", offset=0).error_code == ErrorCode.REPLICA_NOT_AVAILABLE
        assert client.end_offset("t", timestamp=LATEST_TIERED) == tiered
        back(store, moved)
        wait_until_tiered(client, "t", 5 * RECORDS_PER_SEGMENT)
        assert_all_there(client, "t", end)


def test_a_topic_deleted_while_the_store_is_unreachable_is_removed_later(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with tiered_broker(store) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t", 1, TIERED)
        fill(client, "t", 4)
        wait_until_tiered(client, "t", RECORDS_PER_SEGMENT)
        moved = away(store)
        client.delete_topic("t")
        back(store, moved)
        until(lambda: not [path for path in store.rglob("*") if path.is_file()], "the store is empty")


def marked(client: Client) -> bool:
    """Whether the metadata topic records that a partition is to be removed."""
    values = [value for index in range(3) for value in client.values("__remote_log_metadata", index)]
    return any(isinstance(decode_event(value or b""), RemotePartitionDelete) for value in values)


def test_a_removal_that_was_pending_at_a_stop_happens_after_the_start(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with tiered_broker(store) as kafka:
        with Client(kafka.bootstrap) as client:
            for topic in ("gone", "kept"):
                client.create_topic(topic, 1, TIERED)
                fill(client, topic, 4)
                wait_until_tiered(client, topic, RECORDS_PER_SEGMENT)
            moved = away(store)
            client.delete_topic("gone")
            until(lambda: marked(client), "that it is to be removed is written down")
        kafka.stop()
        back(store, moved)
        assert remote_logs(store, "gone")
        kafka.start()
        until(lambda: not remote_logs(store, "gone"), "the store has nothing of it any more")
        assert remote_logs(store, "kept")
