from __future__ import annotations

from pathlib import Path

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli


def test_a_cluster_without_topics_lists_none(cli: Cli) -> None:
    assert cli("topics", "list").text == ""
    assert cli("topics", "list", "--json").json == []


def test_a_created_topic_is_listed_with_its_partitions(cli: Cli) -> None:
    assert cli("topics", "create", "orders", "--partitions", 3).text == "Created topic orders.\n"
    assert cli("topics", "list").rows == [["orders", "3", "1"]]
    (topic,) = cli("topics", "list", "--json").json
    assert (topic["name"], topic["partitions"], topic["replication_factor"], topic["internal"]) == ("orders", 3, 1, False)


def test_options_default_to_the_brokers_settings() -> None:
    with EmbeddedBroker(config={"num.partitions": "5"}) as broker:
        cli = Cli(broker.bootstrap)
        cli("topics", "create", "orders").worked()
        assert cli("topics", "list", "--json").json[0]["partitions"] == 5


def test_settings_given_at_creation_belong_to_the_topic(cli: Cli) -> None:
    cli("topics", "create", "orders", "--config", "retention.ms=1000", "--config", "cleanup.policy=compact,delete").worked()
    (topic,) = cli("topics", "describe", "orders", "--json").json
    assert topic["configs"] == [
        {"name": "cleanup.policy", "value": "compact,delete", "source": "DYNAMIC_TOPIC_CONFIG"},
        # As kafka-topics shows it.
        {"name": "min.insync.replicas", "value": "1", "source": "DYNAMIC_DEFAULT_BROKER_CONFIG"},
        {"name": "retention.ms", "value": "1000", "source": "DYNAMIC_TOPIC_CONFIG"},
    ]


def test_replicas_can_be_assigned_by_hand(cli: Cli) -> None:
    cli("topics", "create", "orders", "--assignment", "1,1,1").worked()
    (topic,) = cli("topics", "describe", "orders", "--json").json
    assert [partition["replicas"] for partition in topic["partitions"]] == [[1], [1], [1]]


def test_describe_shows_leader_replicas_isr_and_offsets_of_every_partition(cli: Cli) -> None:
    cli("topics", "create", "orders", "--partitions", 2).worked()
    cli("produce", "orders", "--partition", 1, stdin=b"a\nb\nc\n").worked()
    (topic,) = cli("topics", "describe", "orders", "--json").json
    alike = {"leader": 1, "replicas": [1], "isr": [1], "start_offset": 0, "remote": None}
    shown = [{name: value for name, value in each.items() if "size" not in name} for each in topic["partitions"]]
    assert shown == [{"partition": 0, **alike, "end_offset": 0}, {"partition": 1, **alike, "end_offset": 3}]
    text = cli("topics", "describe", "orders").text
    assert f"id                  {topic['topic_id']}" in text
    assert [line.split()[:6] for line in text.splitlines()[-2:]] == [["0", "1", "1", "1", "0", "0"], ["1", "1", "1", "1", "0", "3"]]


def test_describe_shows_the_size_and_directory_of_every_replica(cli: Cli, kafka: EmbeddedBroker) -> None:
    cli("topics", "create", "orders", "--partitions", 2).worked()
    cli("produce", "orders", "--partition", 1, stdin=b"a\nb\nc\n").worked()
    (log,) = Path(kafka.data_dir).glob("orders-1/*.log")
    (topic,) = cli("topics", "describe", "orders", "--json").json
    assert [each["size_bytes"] for each in topic["partitions"]] == [0, log.stat().st_size]
    (replica,) = topic["partitions"][1]["replica_sizes"]
    assert Path(replica.pop("directory")).samefile(kafka.data_dir)
    assert replica == {"broker": 1, "size_bytes": log.stat().st_size, "offset_lag": 0, "future": False}
    assert cli("topics", "describe", "orders").text.splitlines()[-1].split()[-1] == str(log.stat().st_size)


def test_topic_ids_are_written_in_kafkas_alphabet(cli: Cli, kafka: EmbeddedBroker) -> None:
    """librdkafka's text of an id may contain + and /, which Kafka's tools do not understand."""
    cli("topics", "create", "orders").worked()
    (topic,) = cli("topics", "list", "--json").json
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    theirs = str(admin.describe_topics(TopicCollection(["orders"]))["orders"].result().topic_id)
    assert topic["topic_id"] == theirs.replace("+", "-").replace("/", "_")


def test_describe_without_names_describes_all_topics(cli: Cli) -> None:
    for name in ("b", "a"):
        cli("topics", "create", name).worked()
    assert [topic["name"] for topic in cli("topics", "describe", "--json").json] == ["a", "b"]
    assert cli("topics", "describe").text.count("Topic ") == 2


def test_partitions_can_be_added(cli: Cli) -> None:
    cli("topics", "create", "orders", "--partitions", 1).worked()
    assert cli("topics", "alter", "orders", "--partitions", 4).text == "Topic orders has 4 partitions now.\n"
    cli("topics", "alter", "orders", "--partitions", 6, "--assignment", "1,1").worked()
    assert cli("topics", "list", "--json").json[0]["partitions"] == 6


def test_deleted_topics_are_no_longer_listed(cli: Cli) -> None:
    for name in ("a", "b", "c"):
        cli("topics", "create", name).worked()
    assert cli("topics", "delete", "a", "c").text == "Deleted topic a.\nDeleted topic c.\n"
    assert [topic["name"] for topic in cli("topics", "list", "--json").json] == ["b"]


def test_creating_a_topic_twice_is_refused_without_if_not_exists(cli: Cli) -> None:
    cli("topics", "create", "orders").worked()
    assert cli("topics", "create", "orders").complaint == "Cannot create topic orders: Topic 'orders' already exists."
    assert cli("topics", "create", "orders", "--if-not-exists").text == "Topic orders exists already.\n"


def test_a_missing_topic_is_named(cli: Cli) -> None:
    for words in (("describe", "nope"), ("delete", "nope")):
        assert cli("topics", *words).complaint == "There is no topic nope."
    assert "nope" in cli("topics", "alter", "nope", "--partitions", 2).complaint
    assert cli("topics", "delete", "nope", "--if-exists").text == ""


def test_a_refusal_of_the_broker_is_one_sentence(cli: Cli) -> None:
    cli("topics", "create", "orders", "--partitions", 3).worked()
    assert "is invalid" in cli("topics", "create", "bad name").complaint
    assert "replication factor of 3" in cli("topics", "create", "x", "--replication-factor", 3).complaint
    assert "bogus" in cli("topics", "create", "x", "--config", "bogus=1").complaint
    assert "broker 7" in cli("topics", "create", "x", "--assignment", "7").complaint
    assert "currently has 3" in cli("topics", "alter", "orders", "--partitions", 2).complaint
    assert "assignment" in cli("topics", "alter", "orders", "--partitions", 5, "--assignment", "1").complaint


def test_contradicting_options_never_reach_the_broker() -> None:
    nowhere = Cli("127.0.0.1:1")
    assert "--assignment" in nowhere("topics", "create", "x", "--assignment", "1", "--partitions", 1).complaint
    assert "--assignment takes broker ids" in nowhere("topics", "create", "x", "--assignment", "one").complaint
    assert "--config takes name=value" in nowhere("topics", "create", "x", "--config", "retention.ms").complaint
    assert "--partitions" in nowhere("topics", "create", "x", "--partitions", 0).complaint
