"""Every property of Java's clients has a fate in the command line: librdkafka takes it, it is
renamed or rewritten, or it is named as one without an equivalent.
"""

from __future__ import annotations

import re

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.client_settings.java_names import IGNORED, IMPOSSIBLE, RENAMED, REWRITTEN
from peers import apache_kafka

_CLASSES = ("consumer.ConsumerConfig", "producer.ProducerConfig", "admin.AdminClientConfig")


def _names(config_class: str) -> set[str]:
    """The class prints its documentation, with an anchor for each property."""
    page = apache_kafka.run_tool(f"org.apache.kafka.clients.{config_class}")
    return {name for name in re.findall(r'id="([^"]+)"', page) if "configs_" not in name}


def _librdkafka_takes(name: str) -> bool:
    try:
        Producer({name: "1", "log_level": 0})
    except KafkaException as error:
        return "No such configuration property" not in str(error)
    except TypeError:
        # A property that confluent-kafka wants as a function or an object.
        return True
    return True


@pytest.mark.java
def test_every_property_of_javas_clients_is_known() -> None:
    if (missing := apache_kafka.why_missing()) is not None:
        pytest.skip(missing)
    java = set().union(*map(_names, _CLASSES))
    assert len(java) > 100
    ours = IGNORED | IMPOSSIBLE | REWRITTEN | RENAMED.keys()
    assert sorted(name for name in java - ours if not _librdkafka_takes(name)) == []
