"""librdkafka and the Java clients push their metrics, which appear on the page and at the
collector."""

from __future__ import annotations

from collections.abc import Callable

from confluent_kafka import Consumer, Producer

from tests.conformance.client_metrics.conftest import Receiving
from tests.waiting import until

PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
RECORDS = 40


def appears(
    receiving: Receiving, client_id: str, name: str, meanwhile: Callable[[], object] = lambda: None
) -> list[tuple[dict[str, str], float]]:
    def found() -> list[tuple[dict[str, str], float]] | None:
        meanwhile()
        return receiving.shown(client_id).get(name)

    return until(found, f"{name} of {client_id} is on the page", seen=lambda: sorted(receiving.shown(client_id)))


def forwarded(receiving: Receiving, client_id: str) -> list[tuple[dict[str, str], dict[str, float]]]:
    return until(
        lambda: [each for each in receiving.collector.resources() if each[0].get("client_id") == client_id],
        f"the collector has metrics of {client_id}",
    )


def test_librdkafka_pushes_the_metrics_of_a_producer(subscribed: Receiving) -> None:
    producer = Producer(
        {"bootstrap.servers": subscribed.bootstrap, "client.id": "rd-producer", "enable.metrics.push": True, "log_level": 0}
    )

    def produce() -> None:
        producer.produce("t", b"x")
        producer.flush()

    ((labels, _),) = appears(subscribed, "rd-producer", "org_apache_kafka_producer_connection_creation_total", produce)
    assert set(labels) == {"client_id", "client_instance_id"}
    ((info, one),) = subscribed.shown("rd-producer")["barnabas_client_info"]
    assert one == 1
    assert info["client_software_name"] == "confluent-kafka-python"
    assert info["client_source_address"] == "127.0.0.1"
    assert info["client_instance_id"] == labels["client_instance_id"]
    attributes, metrics = forwarded(subscribed, "rd-producer")[0]
    assert attributes["client_instance_id"] == labels["client_instance_id"]
    assert (attributes["principal"], attributes["broker_id"]) == ("User:ANONYMOUS", "1")
    assert "org.apache.kafka.producer.connection.creation.total" in metrics


def test_librdkafka_pushes_the_metrics_of_a_consumer_with_its_group(subscribed: Receiving) -> None:
    consumer = Consumer({"bootstrap.servers": subscribed.bootstrap, "client.id": "rd-consumer", "group.id": "a-group", "log_level": 0})
    consumer.subscribe(["t"])
    try:
        appears(subscribed, "rd-consumer", "org_apache_kafka_consumer_coordinator_assigned_partitions", lambda: consumer.poll(0.05))
    finally:
        consumer.close()
    # The last push of a client that ends arrives too.
    forwarded(subscribed, "rd-consumer")


def test_the_java_producer_pushes_its_metrics(subscribed: Receiving) -> None:
    subscribed.tools.run(
        PERFORMANCE,
        *("--topic", "t", "--num-records", str(RECORDS), "--throughput", "10", "--record-size", "10"),
        *("--command-property", f"bootstrap.servers={subscribed.bootstrap}", "client.id=java-producer"),
    )
    ((labels, sent),) = appears(subscribed, "java-producer", "org_apache_kafka_producer_record_send_total")
    assert 0 < sent <= RECORDS
    ((per_topic, _),) = subscribed.shown("java-producer")["org_apache_kafka_producer_topic_record_send_total"]
    assert per_topic == {**labels, "topic": "t"}
    ((info, _),) = subscribed.shown("java-producer")["barnabas_client_info"]
    assert info["client_software_name"] == "apache-kafka-java"

    # Deltas at the collector add up to the counter of the page.
    def forwarded_total() -> float:
        return sum(metrics["org.apache.kafka.producer.record.send.total"] for _, metrics in forwarded(subscribed, "java-producer"))

    until(lambda: forwarded_total() == sent, "the deltas add up", seen=forwarded_total)
    pushes = forwarded(subscribed, "java-producer")
    assert all(len(metrics) > 50 for _, metrics in pushes)


def test_the_java_consumer_pushes_its_metrics_with_its_group(subscribed: Receiving) -> None:
    subscribed.tools.try_run(
        CONSOLE_CONSUMER,
        *("--bootstrap-server", subscribed.bootstrap, "--topic", "t", "--timeout-ms", "4000", "--group", "a-java-group"),
        *("--command-property", "client.id=java-consumer"),
    )
    appears(subscribed, "java-consumer", "org_apache_kafka_consumer_coordinator_assigned_partitions")
    ((info, _),) = subscribed.shown("java-consumer")["barnabas_client_info"]
    assert info["group_id"] == "a-java-group"


def test_a_client_that_turns_pushing_off_pushes_nothing(subscribed: Receiving) -> None:
    producer = Producer({"bootstrap.servers": subscribed.bootstrap, "client.id": "rd-quiet", "enable.metrics.push": False, "log_level": 0})
    loud = Producer({"bootstrap.servers": subscribed.bootstrap, "client.id": "rd-loud", "log_level": 0})

    def produce() -> None:
        for each in (producer, loud):
            each.produce("t", b"x")
            each.flush()

    appears(subscribed, "rd-loud", "org_apache_kafka_producer_connection_creation_total", produce)
    assert subscribed.shown("rd-quiet") == {}
