"""The example of ``docs/tiered_storage.md`` works as the page describes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from tests.cli.running import Cli
from tests.cli.up_cluster import UpCluster
from tests.waiting import until

PAGE = Path(__file__).parents[2] / "docs" / "tiered_storage.md"


def commands(directory: Path) -> list[list[str]]:
    """The words of each line that starts with ``$`` in the page's console."""
    console = PAGE.read_text().partition("```console\n")[2].partition("```")[0]
    return [shlex.split(line.removeprefix("$ ").replace("$PWD", str(directory))) for line in console.splitlines()]


def test_the_example_works_as_the_page_describes(tmp_path: Path) -> None:
    (mkdir, directory), up, create, produce, describe, consume, dump, verify = commands(tmp_path)
    assert mkdir == "mkdir"
    (tmp_path / directory).mkdir()
    assert up[:2] == ["barnabas", "up"]
    assert set(up[2::2]) == {"--override"}
    overrides = dict(each.split("=", 1) for each in up[3::2])
    with UpCluster(tmp_path / "data", brokers=1, overrides=overrides) as cluster:
        cli = Cli(cluster.bootstrap)
        cli(*create[1:]).worked()
        cli(*produce[1:]).worked()

        def partition() -> dict[str, Any]:
            (topic,) = cli(*describe[1:], "--json").json
            (only,) = topic["partitions"]
            assert isinstance(only, dict)
            return only

        until(lambda: partition()["size_bytes"] < 4_000_000, "the local part is small")
        shown = partition()
        assert (shown["start_offset"], shown["end_offset"]) == (0, 20000)
        assert 10_000 < shown["remote"]["local_start_offset"] <= shown["remote"]["last_offset"] < 20_000
        head, row = cli(*describe[1:]).text.splitlines()[-2:]
        assert head in PAGE.read_text()
        assert len(row.split()) == 9
        assert cli(*consume[1:]).text.startswith("20,000 records, ")
        dumped = Cli()(*dump[1:-1], tmp_path / dump[-1], "--json").json_lines
        remote = [each for each in dumped if each["kind"] == "batch"]
        assert remote[0]["base_offset"] == 0
        # The broker goes on copying meanwhile.
        assert shown["remote"]["last_offset"] <= remote[-1]["last_offset"] <= partition()["remote"]["last_offset"]
        assert ": nothing wrong" in Cli()(*verify[1:-1], tmp_path / "data").text
