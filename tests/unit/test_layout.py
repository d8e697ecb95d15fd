"""Rules of tests/ that a reader relies on: see ``tests/README.md``."""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS

TESTS = Path(__file__).parents[1]
APIS = sorted(key.name.lower() for key in BROKER_HANDLERS)
# APIs that Kafka's own broker cannot be compared in with one node: a core decides about them.
IN_CORES = {
    "add_raft_voter": "test_voter_changes",
    "remove_raft_voter": "test_voter_changes",
    "alter_partition_reassignments": "test_reassignments",
    "list_partition_reassignments": "test_reassignments",
    "elect_leaders": "test_elections",
    "unregister_broker": "test_brokers",
}
# Bounds that are no wait of a test: of client programs, of processes that are killed after it, of
# calls that count as hung.
NO_WAITS = {
    "tests/waiting.py",
    "tests/unit/test_layout.py",
    "tests/cluster/copier.py",
    "tests/cluster/copiers.py",
    "tests/cluster/workers.py",
    "tests/pipelines/exactly_once/pipeline_process.py",
}


def apis_of(stem: str) -> set[str]:
    """``test_sync_group_and_heartbeat`` is of both, ``test_fetch_of_x`` of Fetch."""
    parts = stem.removeprefix("test_").split("_and_")
    return {api for part in parts for api in APIS if part == api or part.startswith(f"{api}_of_")}


def test_every_api_has_a_test_file_that_carries_its_name() -> None:
    files = {path.stem for path in TESTS.rglob("test_*.py")}
    named = {api for stem in files for api in apis_of(stem)}
    assert set(IN_CORES.values()) <= files
    assert set(APIS) - named == set(IN_CORES)


@pytest.mark.parametrize("path", sorted(TESTS.glob("conformance/differential/test_*.py")), ids=lambda path: path.stem)
def test_tests_of_an_api_carry_its_name(path: Path) -> None:
    apis = apis_of(path.stem)
    names = re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)
    assert all(any(name.startswith(f"test_{api}_") for api in apis) for name in names) or path.stem == "test_protocol"


def test_only_the_waiting_module_waits_for_a_deadline() -> None:
    pattern = re.compile(r"time\.monotonic\(\) (?:[<>+]|>=|<=) |asyncio\.timeout\(")
    found = {str(path.relative_to(TESTS.parent)) for path in TESTS.rglob("*.py") if pattern.search(path.read_text())}
    assert found - NO_WAITS == set(), "use tests/waiting.py"


def _with_socket(method: str) -> None:
    with socket.socket() as breaching:
        getattr(breaching, method)(("127.0.0.1", 0))


@pytest.mark.parametrize(
    "breach",
    [
        lambda: time.sleep(0),
        lambda: _with_socket("connect"),
        lambda: _with_socket("bind"),
        lambda: asyncio.run(asyncio.sleep(0.001)),
    ],
    ids=["sleep", "connection", "server", "timer"],
)
def test_a_unit_test_that_sleeps_or_opens_a_socket_fails_with_a_sentence(breach: Callable[[], object]) -> None:
    with pytest.raises(pytest.fail.Exception, match="tests/unit promises no sockets and no sleeping"):
        breach()
