"""Which directories a node has."""

from __future__ import annotations

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.logcare.directories.node_directories import log_directory_paths

FILE = {
    "process.roles": "broker",
    "node.id": "2",
    "listeners": "PLAINTEXT://:9092",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@box:9093",
}


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({}, ["/tmp/kafka-logs"]),
        ({"log.dir": "/one"}, ["/one"]),
        ({"log.dir": "/one,/two"}, ["/one", "/two"]),
        ({"log.dir": "/one", "log.dirs": "/two,/three"}, ["/two", "/three"]),
    ],
)
def test_log_dir_counts_where_log_dirs_is_not_set(given: dict[str, str], paths: list[str]) -> None:
    assert log_directory_paths(parse_broker_config(FILE | given)) == paths
