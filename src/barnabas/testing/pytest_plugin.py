"""Barnabas's pytest plugin: brokers as fixtures.

    kafka          a fresh broker for every test that uses it
    kafka_session  one broker for all tests of the run, or of the xdist worker
    kafka_cluster  three fresh brokers for every test that uses them

Their settings come from, later ones first: the parameter of an indirect parametrisation, the marker
``kafka`` of the test, its class and its module, and the options of the ini file. The session's
broker has no single test, so markers do not reach it.

Every pytest run with Barnabas installed imports this module, so it imports nothing of the broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from barnabas.testing.embedded_broker import EmbeddedBroker
    from barnabas.testing.embedded_cluster import EmbeddedCluster

_MARKER = "kafka(config={}, brokers=1, process=False, secure=False): settings of the fixtures kafka and kafka_cluster"
_ARGUMENTS = ("config", "brokers", "process", "secure")
_session_clusters = pytest.StashKey[list[Any]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "kafka_config", "Settings of the brokers of tests, one name=value a line, with Kafka's names.", type="linelist", default=[]
    )
    parser.addini("kafka_brokers", "The number of brokers of the fixtures kafka and kafka_session.", default="1")
    parser.addini("kafka_process", "Whether brokers run as processes, which can be killed.", type="bool", default=False)
    parser.addini("kafka_secure", "Whether clients need TLS and a login, and ACLs are on.", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARKER)
    config.stash[_session_clusters] = []


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """A test that fails in the middle leaves its faults behind; the next test of the session must
    not meet them."""
    for cluster in item.config.stash.get(_session_clusters, []):
        cluster.heal()


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """A fresh broker on a free port of this machine; clients connect to ``kafka.bootstrap``."""
    from barnabas.testing.embedded_broker import EmbeddedBroker

    with EmbeddedBroker(**_arguments(request)) as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka_session(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker]:
    """One broker for all tests of the run. Tests share its topics, so each takes names of its own:
    ``kafka_session.create_topic()`` gives a unique one. Faults end with the test that set them.
    Under xdist each worker has its own broker."""
    from barnabas.testing.embedded_broker import EmbeddedBroker

    with EmbeddedBroker(**_arguments(request)) as broker:
        clusters = request.config.stash[_session_clusters]
        clusters.append(broker)
        yield broker
        clusters.remove(broker)


@pytest.fixture
def kafka_cluster(request: pytest.FixtureRequest) -> Iterator[EmbeddedCluster]:
    """Three fresh brokers, or as many as the marker says, in threads of this process."""
    from barnabas.testing.embedded_cluster import EmbeddedCluster

    arguments = _arguments(request)
    # The ini option is about one broker; a test that asks for a cluster wants several.
    arguments["brokers"] = _given(request).get("brokers", 3)
    with EmbeddedCluster(**arguments) as cluster:
        yield cluster


def _arguments(request: pytest.FixtureRequest) -> dict[str, Any]:
    ini, given = request.config, _given(request)
    config = dict(_assignment(line) for line in ini.getini("kafka_config"))
    return {
        "config": {**config, **given.get("config", {})},
        "brokers": given.get("brokers", _whole_number(ini.getini("kafka_brokers"))),
        "process": given.get("process", ini.getini("kafka_process")),
        "secure": given.get("secure", ini.getini("kafka_secure")),
    }


def _given(request: pytest.FixtureRequest) -> dict[str, Any]:
    """From markers and the parameter. Values of the nearest marker win; settings are merged."""
    sources: list[Mapping[str, Any]] = []
    if request.scope == "function":
        for marker in reversed(list(request.node.iter_markers("kafka"))):
            if marker.args:
                raise pytest.UsageError(f"@pytest.mark.kafka takes {', '.join(_ARGUMENTS)} by name, and not {marker.args!r}.")
            sources.append(marker.kwargs)
    parameter = getattr(request, "param", None)
    if parameter is not None:
        if not isinstance(parameter, Mapping):
            raise pytest.UsageError(f"The parameter of a Kafka fixture is a dict of {', '.join(_ARGUMENTS)}, and not {parameter!r}.")
        sources.append(parameter)
    merged: dict[str, Any] = {}
    for source in sources:
        unknown = [name for name in source if name not in _ARGUMENTS]
        if unknown:
            raise pytest.UsageError(f"Kafka fixtures take {', '.join(_ARGUMENTS)}, and not {', '.join(unknown)}. Settings go into config.")
        merged = {**merged, **source, "config": {**merged.get("config", {}), **source.get("config", {})}}
    return merged


def _assignment(line: str) -> tuple[str, str]:
    name, equals, value = line.partition("=")
    if not equals:
        raise pytest.UsageError(f"A line of kafka_config is name=value, and not {line!r}.")
    return name.strip(), value.strip()


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(f"kafka_brokers is a number, and not {text!r}.") from None
