"""The fixtures in the hands of a user: configured, shared, and parallel under xdist."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]


def test_fixtures_take_their_settings_from_ini_marker_and_parameter(pytester: pytest.Pytester) -> None:
    pytester.makeini("""
        [pytest]
        addopts = --strict-markers
        kafka_config =
            num.partitions = 2
            auto.create.topics.enable = false
        """)
    pytester.makepyfile("""
        import pytest

        pytestmark = pytest.mark.kafka(config={"message.max.bytes": 5000})

        def partitions(kafka):
            return len(kafka.end_offsets(kafka.create_topic()))

        def test_ini(kafka):
            assert partitions(kafka) == 2

        @pytest.mark.kafka(config={"num.partitions": 3}, process=True)
        def test_marker(kafka):
            import os
            assert partitions(kafka) == 3
            assert kafka.pid != os.getpid()

        @pytest.mark.kafka(brokers=2)
        def test_brokers(kafka):
            assert kafka.brokers == (1, 2)

        @pytest.mark.parametrize("kafka", [{"config": {"num.partitions": 4}}, {"brokers": 2}], indirect=True)
        def test_parameter(kafka):
            assert (partitions(kafka), len(kafka.brokers)) in [(4, 1), (2, 2)]

        def test_cluster(kafka_cluster):
            assert kafka_cluster.brokers == (1, 2, 3)
            assert partitions(kafka_cluster) == 2

        @pytest.mark.kafka(brokers=2)
        def test_cluster_of_two(kafka_cluster):
            assert kafka_cluster.brokers == (1, 2)
        """)
    pytester.runpytest().assert_outcomes(passed=7)


def test_the_session_has_one_broker_and_faults_end_with_their_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        def test_one(kafka_session):
            kafka_session.create_topic("t")
            kafka_session.cut()
            kafka_session.fail("Metadata", "INVALID_REQUEST", times=None)

        def test_two(kafka_session):
            from confluent_kafka.admin import AdminClient
            assert "t" in AdminClient({"bootstrap.servers": kafka_session.bootstrap}).list_topics("t", timeout=60).topics
        """)
    pytester.runpytest().assert_outcomes(passed=2)


def test_each_worker_of_xdist_has_brokers_of_its_own(pytester: pytest.Pytester) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("number", range(2))
        def test_session(kafka_session, number, worker_id):
            topic = kafka_session.create_topic(f"topic-{number}")
            kafka_session.produce(topic, worker_id)
            with open(f"seen-{worker_id}-{number}", "w") as seen:
                seen.write(kafka_session.bootstrap)

        @pytest.mark.parametrize("number", range(2))
        def test_fresh(kafka, number):
            assert kafka.topics() == []
            kafka.create_topic("t")
        """)
    # Three processes would rewrite the assertions of all of Barnabas, in ten seconds each.
    pytester.runpytest_subprocess("-n", "2", "--dist", "each", "--assert", "plain").assert_outcomes(passed=8)
    seen = {path.name: path.read_text() for path in pytester.path.glob("seen-*")}
    assert len(seen) == 4
    for worker in ("gw0", "gw1"):
        assert len({address for name, address in seen.items() if worker in name}) == 1
    assert len(set(seen.values())) == 2


def test_mistakes_in_settings_get_a_sentence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest

        @pytest.mark.kafka(partitions=3)
        def test_marker(kafka): ...

        @pytest.mark.kafka({"num.partitions": 3})
        def test_arguments(kafka): ...

        @pytest.mark.parametrize("kafka", [3], indirect=True)
        def test_parameter(kafka): ...
        """)
    result = pytester.runpytest()
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines_random(
        [
            "*Kafka fixtures take config, brokers, process, secure, and not partitions. Settings go into config.",
            "*@pytest.mark.kafka takes config, brokers, process, secure by name*",
            "*The parameter of a Kafka fixture is a dict of config, brokers, process, secure, and not 3.",
        ]
    )


def test_a_run_without_brokers_imports_none(pytester: pytest.Pytester) -> None:
    """Every pytest run of an environment loads the plugin."""
    imported = "import barnabas.testing.pytest_plugin, sys; print([name for name in sys.modules if name.startswith('barnabas.')])"
    output = subprocess.run([sys.executable, "-c", imported], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "['barnabas.testing', 'barnabas.testing.pytest_plugin']"
