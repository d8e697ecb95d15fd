"""``log info``: the contents of a directory, from the ends of its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.model.ids import uuid_text
from tests.cli.log.test_verify import FIRST, LAST, SECOND, TOPIC_ID, lay_out
from tests.cli.running import Cli
from tests.unit.storage.logs import BATCH_BYTES, NOW_MS


@pytest.fixture
def data(tmp_path: Path) -> Path:
    lay_out(tmp_path / "data")
    return tmp_path / "data"


def the_partition(path: Path) -> dict[str, Any]:
    (found,) = Cli()("log", "info", path, "--json").json
    assert isinstance(found, dict)
    return found


def test_a_partition_is_shown_with_its_segments_and_its_checkpoints(data: Path) -> None:
    found = the_partition(data)
    assert found["partition"] == "orders-0"
    assert found["topic_id"] == uuid_text(TOPIC_ID)
    assert found["size_bytes"] == sum(path.stat().st_size for path in (data / "orders-0").glob("*.log"))
    assert (found["log_start_offset"], found["local_start_offset"], found["end_offset"]) == (0, 0, 25)
    assert (found["high_watermark"], found["recovery_point"], found["cleaned_to"]) == (25, 25, 5)
    assert [(each["base_offset"], each["end_offset"]) for each in found["segments"]] == [(0, 10), (10, 20), (20, 25)]
    first = found["segments"][0]
    assert (first["size_bytes"], first["first_timestamp"], first["largest_timestamp"]) == (10 * BATCH_BYTES, NOW_MS, NOW_MS + 9)
    assert first["index_bytes"] == sum((data / "orders-0" / f"{FIRST}{each}").stat().st_size for each in (".index", ".timeindex"))


def test_a_log_start_offset_that_differs_from_the_first_segment_is_shown_beside_it(data: Path) -> None:
    for start in (3, 15):
        (data / "log-start-offset-checkpoint").write_text(f"0\n1\norders 0 {start}\n")
        for path in (data / "orders-0").glob(f"{FIRST}.*"):
            path.unlink()
        found = the_partition(data)
        assert (found["log_start_offset"], found["local_start_offset"]) == (start, 10)


def test_text_output_has_a_line_per_partition_and_on_request_per_segment(data: Path) -> None:
    assert [row[:6] for row in Cli()("log", "info", data / "orders-0").rows] == [["orders-0", "3", "2478", "0", "0", "25"]]
    text = Cli()("log", "info", data, "--segments").text
    assert "2023-11-14T22:13:20.000Z" in text
    assert [line.split()[:2] for line in text.splitlines()[-3:]] == [["0", "10"], ["10", "20"], ["20", "25"]]


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("content", [None, b"", b"\xff" * 50, bytes([0, 0, 0, 1, 0, 0, 0, 7])])
def test_a_missing_or_damaged_index_only_costs_time(data: Path, suffix: str, content: bytes | None) -> None:
    path = data / "orders-0" / f"{SECOND}{suffix}"
    path.unlink() if content is None else path.write_bytes(content)
    segment = the_partition(data)["segments"][1]
    assert (segment["end_offset"], segment["damage"]) == (20, None)


def test_a_damaged_segment_is_shown_up_to_the_damage(data: Path) -> None:
    path = data / "orders-0" / f"{LAST}.log"
    path.write_bytes(path.read_bytes()[:-1])
    segment = the_partition(data)["segments"][2]
    assert segment["end_offset"] == 24
    assert "is cut off after" in segment["damage"]
