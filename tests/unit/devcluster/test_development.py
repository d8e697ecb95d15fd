"""The settings of a development node: valid, small, and overridden by those of the user."""

from __future__ import annotations

from barnabas.config.parse import parse_broker_config
from barnabas.devcluster.development import development_properties


def test_development_settings_make_a_cluster_of_one_node() -> None:
    settings = parse_broker_config(development_properties(data_dir="/data"))
    assert settings.strings("process.roles") == ("broker", "controller")
    assert settings.strings("controller.quorum.voters") == ("1@127.0.0.1:0",)
    assert settings.strings("log.dirs") == ("/data",)
    assert settings.strings("listeners") == ("PLAINTEXT://127.0.0.1:0", "CONTROLLER://127.0.0.1:0")


def test_internal_topics_have_one_replica_and_groups_do_not_wait() -> None:
    settings = parse_broker_config(development_properties(data_dir="/data"))
    for name in (
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
        "share.coordinator.state.topic.min.isr",
    ):
        assert settings.integer(name) == 1
    assert settings.integer("group.initial.rebalance.delay.ms") == 0


def test_settings_of_the_user_override_development_settings() -> None:
    given = {"num.partitions": "7", "listeners": "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2"}
    properties = development_properties(node_id=4, host="127.0.0.2", port=5, data_dir="/data", overrides=given)
    assert properties["num.partitions"] == "7"
    assert properties["listeners"] == given["listeners"]
    assert properties["node.id"] == "4"
    assert properties["controller.quorum.voters"] == "4@127.0.0.2:0"


def test_the_port_is_the_clients_and_the_controllers_is_any() -> None:
    assert development_properties(port=9092, data_dir="/d")["listeners"] == "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:0"
