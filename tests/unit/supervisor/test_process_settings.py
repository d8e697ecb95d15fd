"""One file of settings in, the settings of N processes out."""

from __future__ import annotations

import pytest

from barnabas.config.keys import ConfigError
from barnabas.config.parse import parse_broker_config
from barnabas.config.settings import BrokerSettings
from barnabas.supervisor.process_settings import derive, port_offsets

BOTH_ROLES = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@box:9093",
    "log.dirs": "/data",
}
BROKER = {
    "process.roles": "broker",
    "node.id": "101",
    "listeners": "PLAINTEXT://box:9092",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@c1:9093,2@c2:9093,3@c3:9093",
    "log.dirs": "/a,/b",
}


def settings(properties: dict[str, str], **more: str) -> BrokerSettings:
    return parse_broker_config(properties | {name.replace("_", "."): value for name, value in more.items()})


def overrides(given: BrokerSettings, count: int) -> list[dict[str, str]]:
    return [each.overrides for each in derive(given, count, machine="box")]


def test_the_first_process_gets_the_place_that_the_file_describes() -> None:
    assert overrides(settings(BOTH_ROLES), 3)[0] == {
        "broker.rack": "box",
        "process.roles": "broker,controller",
        "node.id": "1",
        "broker.id": "1",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "advertised.listeners": "PLAINTEXT://:9092",
        "log.dirs": "/data",
        "metadata.log.dir": "/data",
        "cordoned.log.dirs": "",
    }


@pytest.mark.parametrize("before", [BOTH_ROLES, BROKER, BROKER | {"advertised.listeners": "PLAINTEXT://nat:30000"}])
def test_a_process_keeps_its_place_when_the_file_is_edited_before_its_restart(before: dict[str, str]) -> None:
    edited = before | {
        "node.id": "7",
        "listeners": before["listeners"].replace("9092", "9192"),
        "advertised.listeners": "PLAINTEXT://other:9192",
        "log.dirs": "/elsewhere",
        "metadata.log.dir": "/fast",
        "cordoned.log.dirs": "/elsewhere",
    }
    for process in derive(settings(before), 3, machine="box"):
        started, restarted = (parse_broker_config(file | process.overrides) for file in (before, edited))
        assert {key: restarted[key] for key in process.overrides} == {key: started[key] for key in process.overrides}


def test_an_advertised_address_of_the_controller_stays_with_the_first_process() -> None:
    given = settings(BOTH_ROLES | {"advertised.listeners": "PLAINTEXT://nat:30000,CONTROLLER://nat:30001"})
    first, second = overrides(given, 2)
    assert first["advertised.listeners"] == "PLAINTEXT://nat:30000,CONTROLLER://nat:30001"
    assert second["advertised.listeners"] == "PLAINTEXT://nat:30002"


def test_a_further_process_is_a_broker_with_its_own_id_ports_and_directory() -> None:
    assert overrides(settings(BOTH_ROLES), 3)[1:] == [
        {
            "broker.rack": "box",
            "process.roles": "broker",
            "node.id": "2",
            "broker.id": "2",
            "listeners": "PLAINTEXT://:9094",
            "advertised.listeners": "PLAINTEXT://:9094",
            "log.dirs": "/data/processes/node-2",
            "metadata.log.dir": "/data/processes/node-2",
            "cordoned.log.dirs": "",
        },
        {
            "broker.rack": "box",
            "process.roles": "broker",
            "node.id": "3",
            "broker.id": "3",
            "listeners": "PLAINTEXT://:9095",
            "advertised.listeners": "PLAINTEXT://:9095",
            "log.dirs": "/data/processes/node-3",
            "metadata.log.dir": "/data/processes/node-3",
            "cordoned.log.dirs": "",
        },
    ]


def test_every_log_directory_has_one_for_each_process() -> None:
    assert overrides(settings(BROKER), 2)[1]["log.dirs"] == "/a/processes/node-102,/b/processes/node-102"


def test_log_dir_counts_where_log_dirs_is_not_set() -> None:
    one = {name: value for name, value in BROKER.items() if name != "log.dirs"} | {"log.dir": "/one"}
    assert overrides(settings(one), 2)[1]["log.dirs"] == "/one/processes/node-102"


def test_the_directory_of_the_metadata_log_and_cordoned_directories_are_derived_too() -> None:
    derived = overrides(settings(BROKER | {"metadata.log.dir": "/meta", "cordoned.log.dirs": "/b"}), 2)[1]
    assert derived["metadata.log.dir"] == "/meta/processes/node-102"
    assert derived["cordoned.log.dirs"] == "/b/processes/node-102"


def test_cordoning_every_directory_stays_as_it_is() -> None:
    assert overrides(settings(BROKER | {"cordoned.log.dirs": "*"}), 2)[1]["cordoned.log.dirs"] == "*"


def test_a_rack_of_the_file_is_kept() -> None:
    assert "broker.rack" not in overrides(settings(BOTH_ROLES, broker_rack="eu-1a"), 1)[0]


@pytest.mark.parametrize("given", [BOTH_ROLES, BROKER, BROKER | {"advertised.listeners": "PLAINTEXT://nat:30000"}])
def test_derived_settings_are_valid(given: dict[str, str]) -> None:
    for process in derive(settings(given), 5, machine="box"):
        parsed = parse_broker_config(given | process.overrides)
        assert parsed.integer("node.id") == process.node_id
        assert parsed.text("broker.rack") == "box"


def test_a_node_id_that_is_given_as_broker_id_is_derived() -> None:
    given = {name: value for name, value in BROKER.items() if name != "node.id"} | {"broker.id": "101"}
    assert [each.node_id for each in derive(settings(given), 2, machine="box")] == [101, 102]
    parse_broker_config(given | overrides(settings(given), 2)[1])


@pytest.mark.parametrize(
    ("listeners", "advertised", "offsets"),
    [
        ("PLAINTEXT://:9092", "PLAINTEXT://box:9092", [0, 1, 2, 3]),
        ("PLAINTEXT://:9092,CONTROLLER://:9093", "PLAINTEXT://box:9092", [0, 2, 3, 4]),
        ("CONTROLLER://:9091,PLAINTEXT://:9092", "PLAINTEXT://box:9092", [0, 1, 2, 3]),
        ("PLAINTEXT://:9092,SSL://:9093", "PLAINTEXT://box:9092,SSL://box:9093", [0, 2, 4, 6]),
        ("PLAINTEXT://:9092,SSL://:9093,CONTROLLER://:9094", "PLAINTEXT://box:9092,SSL://box:9093", [0, 3, 5, 7]),
        ("PLAINTEXT://:9092,SSL://:9192", "PLAINTEXT://box:9092,SSL://box:9192", [0, 1, 2, 3]),
        # The ports that are advertised must differ as well, if their host is the same.
        ("PLAINTEXT://:9092,SSL://:9192", "PLAINTEXT://nat:1000,SSL://nat:1001", [0, 2, 4, 6]),
        ("PLAINTEXT://:9092,SSL://:9192", "PLAINTEXT://in:1000,SSL://out:1001", [0, 1, 2, 3]),
        ("PLAINTEXT://:0", "PLAINTEXT://box:0", [0, 1, 2, 3]),
    ],
)
def test_ports_are_raised_by_the_smallest_offset_that_uses_no_port_twice(listeners: str, advertised: str, offsets: list[int]) -> None:
    roles = "broker,controller" if "CONTROLLER" in listeners else "broker"
    given = {
        **(BOTH_ROLES | {"node.id": "7", "controller.quorum.voters": "7@box:1" if roles != "broker" else "1@c:1"}),
        "process.roles": roles,
        "listeners": listeners,
        "advertised.listeners": advertised,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    assert port_offsets(settings(given), 4) == offsets
    assert port_offsets(settings(given), 2) == offsets[:2]


def test_the_ports_of_pages_are_not_given_to_processes() -> None:
    assert port_offsets(settings(BROKER, barnabas_prometheus_listener=":9093", barnabas_health_listener=":9095"), 3) == [0, 2, 4]


def test_advertised_listeners_are_raised_by_the_same_offset() -> None:
    given = settings(BOTH_ROLES | {"advertised.listeners": "PLAINTEXT://nat:30000,CONTROLLER://box:9093"})
    derived = overrides(given, 2)[1]
    assert derived["listeners"] == "PLAINTEXT://:9094"
    assert derived["advertised.listeners"] == "PLAINTEXT://nat:30002"


def test_a_port_that_the_system_chooses_is_chosen_for_each_process() -> None:
    assert overrides(settings(BROKER | {"listeners": "PLAINTEXT://[::1]:0"}), 2)[1]["listeners"] == "PLAINTEXT://[::1]:0"


@pytest.mark.parametrize(
    ("given", "count", "sentence"),
    [
        ({**BROKER, "listeners": "PLAINTEXT://:65534"}, 4, "process 3 would need port 65536"),
        ({**BROKER, "node.id": "0"}, 4, "controller.quorum.voters has node 1, which would also be the id of a process here"),
        (
            {**BOTH_ROLES, "process.roles": "controller", "listeners": "CONTROLLER://:9093"},
            2,
            "--processes is for brokers",
        ),
        ({**BOTH_ROLES, "listeners": "PLAINTEXT://:9092,CONTROLLER://:0"}, 2, "the other processes must know it"),
    ],
)
def test_settings_that_do_not_fit_are_refused_with_a_sentence(given: dict[str, str], count: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        derive(settings(given), count, machine="box")
