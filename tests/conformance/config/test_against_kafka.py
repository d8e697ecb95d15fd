"""Our tables, our parsing of values and our rules, against Kafka's own classes.

One JVM answers everything (``ConfigOracle.java``): its tables are compared key by key, thousands of
texts are tried on every key, and whole configurations are accepted and refused alike. Where we are
stricter on purpose (unknown names, ports that do not exist) the unit tests show it, and no test
here tries it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import REQUIRED, ConfigError, ConfigKey, ConfigType
from barnabas.config.later_keys import LATER_KEYS
from barnabas.config.listeners import Listener, advertised_listeners, listeners
from barnabas.config.parse import parse_broker_config
from barnabas.config.properties import read_properties, write_properties
from barnabas.config.quota_keys import CLIENT_QUOTA_KEYS, IP_QUOTA_KEYS
from barnabas.config.topic_keys import TOPIC_KEYS, topic_defaults
from barnabas.config.validators import Between, ListOf, OneOf
from peers import apache_kafka
from tests.waiting import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.java,
    pytest.mark.skipif(apache_kafka.why_missing() is not None, reason=apache_kafka.why_missing() or ""),
]

TABLES: Mapping[str, Mapping[str, ConfigKey]] = {
    "broker": BROKER_KEYS,
    "broker at run time": DYNAMIC_ONLY_KEYS,
    "topic": TOPIC_KEYS,
    "group": GROUP_KEYS,
    "client metrics": CLIENT_METRICS_KEYS,
    "client quota": CLIENT_QUOTA_KEYS,
    "ip quota": IP_QUOTA_KEYS,
}

# Every text is tried on every key of every type: one type accepts it and another must refuse it.
TEXTS = [
    *("", " ", "\t1\n", "\u00a01", "\x0012", "x", "*", "None", "null"),
    *("true", "FALSE", " True ", "yes", "1b"),
    *("0", "1", "-1", "-2", "-3", "+5", "+-5", "-", "+", "007", "1_000", "1,000", "0x10", "1e3", "1 0", "\u0665"),
    *("32767", "32768", "-32768", "-32769", "2147483647", "2147483648", "-2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0" * 30 + "7", "9" * 5000),
    *("0.5", "1.0", ".5", "5.", ".", "1.5f", "2D", "1e", "0x1p3", "0x.8p1", "0x1", "1e400", "1e-400", "NaN", "nan", "-Infinity", "inf"),
    *("100", "0.001", "0.0001", "9999999", "10000000", "12345678.9", "1.25e-7", "-1.5e10", "-0.0", "1.7976931348623157E308"),
    *("a,b", "a,a", "a,,b", ",", "a,", " a , b\t,c ", "delete", "compact,delete", "delete,delete", "Delete", "broker,controller"),
    *("classic,share", "consumer", "gzip", "GZIP", "zstd", "producer", "CreateTime", "logappendtime", "read_committed"),
    *("0:1", "0:1,2:3", "0:1, 2:3", "0:1,*", "*,*", "1:", ":1", "0:1,,2:3", "-1:2", "0:\u0661"),
    *("1@host:9093", "1@host:9093,2@[::1]:9094", "x@host:1", "1@host", "1@host:99999", "1@host:1@", "@host:1", "1@:1", "1 @host:1"),
    *("host:1", "host:1,other:2", "[::1]:9092", "host", "host:x", "ho st:1", "http://host:1", "host:0000000001", ":9"),
    *("required", "none", "SSL", "ssl", "SASL_SSL", "Bidirectional", "upgrade", "es256", "RS256", "INFO"),
    *("earliest", "latest", "EARLIEST", "by_duration", "by_duration:", "by_duration:P1D", "by_duration:PT1H30M", "by_duration:pt1.5s"),
    *(
        "by_duration:-P1D",
        "by_duration:P-1D",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:P1DT",
        "by_duration:P1DT-1H",
        "by_duration:P1Y",
    ),
    *("by_duration:PT0S", "by_duration:PT.5S", "by_duration:PT0.1234567890S", "none:P1D", "by_duration:P1D:", "by_duration: P1D"),
    *("client_id=a.*", "client_id=a=b", "client_id=", "client=a", " client_id = [0-9]+ ", "client_id=[", "client_id=a,client_id=b"),
    *("99", "101", "3600000", "3600001"),
]

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
BROKER = COMBINED | {"process.roles": "broker", "node.id": "2", "listeners": "PLAINTEXT://localhost:9092"}
CONTROLLER = COMBINED | {"process.roles": "controller", "listeners": "CONTROLLER://localhost:9093"}
MAP = "listener.security.protocol.map"

BROKERS: list[dict[str, str]] = [
    COMBINED,
    BROKER,
    CONTROLLER,
    {},
    *({name: value for name, value in COMBINED.items() if name != missing} for missing in COMBINED),
    *(
        COMBINED | changes
        for changes in (
            {"broker.id": "1"},
            {"broker.id": "2"},
            {"node.id": "2"},
            {"log.roll.ms": "0"},
            {"log.roll.ms": "1"},
            {"log.roll.hours": "2"},
            {"log.roll.jitter.ms": "-1"},
            {"log.roll.jitter.ms": "10", "log.roll.jitter.hours": "1"},
            {"log.retention.ms": "0"},
            {"log.retention.ms": "-5"},
            {"log.retention.minutes": "3"},
            {"log.retention.minutes": "0"},
            {"log.retention.hours": "-7"},
            {"log.retention.ms": "7", "log.retention.minutes": "3", "log.retention.hours": "1"},
            {"log.flush.interval.ms": "5"},
            {"log.flush.scheduler.interval.ms": "6"},
            {"log.cleanup.policy": ""},
            {"log.cleanup.policy": "compact, delete", "compression.type": "lz4", "log.cleaner.min.cleanable.ratio": "0.25"},
            {"log.cleaner.threads": "0"},
            {"log.cleaner.threads": "127"},
            {"log.cleaner.threads": "128"},
            {"replica.fetch.wait.max.ms": "30000"},
            {"replica.fetch.wait.max.ms": "30001"},
            {"replica.fetch.wait.max.ms": "30001", "replica.lag.time.max.ms": "40000"},
            {"broker.heartbeat.interval.ms": "9000"},
            {"controller.quorum.voters": "2@localhost:9093"},
            {"controller.quorum.voters": ""},
            {"controller.quorum.voters": "1@0.0.0.0:9093"},
            {"listeners": "PLAINTEXT://localhost:9092"},
            {"listeners": "CONTROLLER://localhost:9093"},
            {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"},
            {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"},
            {"listeners": "PLAINTEXT://:9092,CONTROLLER://0.0.0.0:9093"},
            {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093", "advertised.listeners": "PLAINTEXT://me:9092"},
            {"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
            {"advertised.listeners": "PLAINTEXT://me:9092,CONTROLLER://me:9093"},
            {"advertised.listeners": "PLAINTEXT://me:9092,CONTROLLER://0.0.0.0:9093"},
            {"advertised.listeners": "CONTROLLER://me:9093"},
            {"advertised.listeners": "PLAINTEXT://me:9092,PLAINTEXT://me:9093"},
            {
                "advertised.listeners": "PLAINTEXT://me:9092,OTHER://me:9092",
                MAP: "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT",
            },
            {"listeners": "plaintext://localhost:9092,CONTROLLER://localhost:9093"},
            {"listeners": "PLAINTEXT://localhost:9092,controller://localhost:9093"},
            {"listeners": "PLAINTEXT://localhost:9092,controller://localhost:9093", "controller.listener.names": "controller"},
            {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9092"},
            {"listeners": "PLAINTEXT://localhost:0,CONTROLLER://localhost:0"},
            {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"},
            {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.2:9092"},
            {"listeners": "PLAINTEXT://localhost,CONTROLLER://localhost:9093"},
            {"listeners": "PLAINTEXT:localhost:9092,CONTROLLER://localhost:9093"},
            {"listeners": "PLAINTEXT://localhost:9092,PLAINTEXT://localhost:9094,CONTROLLER://localhost:9093"},
            {"listeners": "CLIENTS://localhost:9092,CONTROLLER://localhost:9093"},
            {
                "listeners": "CLIENTS://localhost:9092,CONTROLLER://localhost:9093",
                MAP: "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "inter.broker.listener.name": "CLIENTS",
            },
            {
                "listeners": "clients://localhost:9092,CONTROLLER://localhost:9093",
                MAP: " Clients : plaintext , controller:PLAINTEXT",
                "inter.broker.listener.name": "clients",
            },
            {"listeners": "CLIENTS://localhost:9092,CONTROLLER://localhost:9093", MAP: "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT"},
            {MAP: "PLAINTEXT:PLAINTEXT"},
            {MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:TLS"},
            {MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER"},
            {MAP: ""},
            {"inter.broker.listener.name": "PLAINTEXT"},
            {"inter.broker.listener.name": "CONTROLLER"},
            {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            {"log.dirs": "/a,/b", "cordoned.log.dirs": "/a"},
            {"log.dirs": "/a,/b", "cordoned.log.dirs": "/c"},
            {"log.dirs": "/a,/b", "cordoned.log.dirs": "*"},
            {"log.dirs": "/a,/b", "cordoned.log.dirs": "*,/a"},
            {"log.dirs": ""},
            {"log.dir": "/a,/a"},
            {"queued.max.request.bytes": "1"},
            {"queued.max.request.bytes": "0"},
            {"queued.max.request.bytes": "1", "socket.request.max.bytes": "1"},
            {"max.connections.per.ip": "0"},
            {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5, ::1:7"},
            {"max.connections.per.ip.overrides": "127.0.0.1"},
            {"max.connections.per.ip.overrides": "127.0.0.1:many"},
            {"max.connections.per.ip.overrides": "12 7:1"},
            {"connections.max.idle.ms": "100"},
            {"connections.max.idle.ms": "101"},
            {"connections.max.idle.ms": "-1"},
            {"listener.name.plaintext.max.connections": "5"},
            {"rsm.config.bucket": "b", "metrics.context.zone": "z"},
        )
    ),
    *(
        BROKER | changes
        for changes in (
            {"node.id": "1"},
            {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"},
            {"advertised.listeners": "PLAINTEXT://me:9092,CONTROLLER://me:9093"},
            {"controller.listener.names": ""},
            {"controller.listener.names": "CONTROLLER,OTHER"},
        )
    ),
    *(
        CONTROLLER | changes
        for changes in (
            {"listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"},
            {"advertised.listeners": "CONTROLLER://me:9093"},
            {"advertised.listeners": "PLAINTEXT://me:9093"},
            {"inter.broker.listener.name": "CONTROLLER"},
            {"controller.listener.names": "CONTROLLER,OTHER"},
        )
    ),
]

PROPERTIES = [
    "",
    "a=1\nb:2\nc 3\nd\te\n",
    "a = 1 \n  b  :  2\n c\t\f=\t 3\n",
    "a==1\nb= =2\nc := 3\nd\n=e\n",
    "# comment\n! comment \\\na=1\n  # indented\n\n\t\n",
    "a=one \\\n   two \\\n\tthree\nb=2\n",
    "a=one\\\\\nb=2\\\\\\\n3\n",
    "a=one\\\n\nb=2\n",
    "a=one\\\n# not a comment\n",
    "a\\ b=1\na\\=b=2\na\\:b:3\n\\#c=4\n",
    "a=tab\\tnewline\\nreturn\\rfeed\\fother\\q\\\\\n",
    "a=\\u00e9\\u20AC\\ud83d\\ude00\n\\u0061b=x\n",
    "a=\\u00g1\n",
    "a=\\u12",
    "a=1\r\nb=2\rc=3",
    "a=1\na=2\n",
    "a=ends with backslash\\",
    "a=1\\\r\n  2\nb=\\\n\n",
    "C=C:\\data\\logs\n",
    "  \\\n  a=1\n",
    "a=\u00e9\u20ac\n",
    "a = # not a comment\nb=!x\n",
    "\\\n",
    "a\\\n=1\n",
    write_properties({"a b": "  two spaces", "tabs\t=:#!\\": "x=y:z#! \\ é€\U0001f600\n", "empty": "", "log.dirs": "/a,/b"}),
]


@cache
def answer() -> Any:
    request = {"probes": list(probes()), "brokers": BROKERS, "properties": PROPERTIES}
    program = Path(__file__).with_name("ConfigOracle.java")
    done = subprocess.run(
        apache_kafka.java_program(program), input=json.dumps(request), capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def probes() -> Iterator[tuple[str, str, str]]:
    for table, keys in TABLES.items():
        for key in keys.values():
            # Kafka loads classes, and it does not know our own keys.
            if key.type is not ConfigType.CLASS and key.name in of_kafka(keys):
                yield from ((table, key.name, text) for text in [*TEXTS, *around_bounds(key)])


def around_bounds(key: ConfigKey) -> Iterator[str]:
    match key.valid:
        case Between(low, high):
            yield from (str(bound + step) for bound in (low, high) if bound is not None for step in (-1, 0, 1))
        case OneOf(choices) | ListOf(choices):
            yield from choices
            yield from (choice.swapcase() for choice in choices)
            yield ",".join(choices)


def of_kafka(keys: Mapping[str, ConfigKey]) -> set[str]:
    ours = {"super.users", "allow.everyone.if.no.acl.found", "remote.log.storage.url"}
    return {name for name in keys if not name.startswith("barnabas.")} - ours - LATER_KEYS


@pytest.mark.parametrize("table", TABLES)
def test_our_keys_are_kafkas_keys(table: str) -> None:
    assert of_kafka(TABLES[table]) == set(answer()["tables"][table])


def test_the_keys_of_kafkas_authorizer_are_known() -> None:
    assert set(answer()["authorizer_keys"]) <= set(BROKER_KEYS)


@pytest.mark.parametrize("table", TABLES)
def test_types_defaults_and_visibility_are_kafkas(table: str) -> None:
    theirs = answer()["tables"][table]
    # Kafka builds this one from a hash map of an enum, and prints it in another order in every
    # process.
    in_any_order = {"listener.security.protocol.map"}
    for name in of_kafka(TABLES[table]):
        key = TABLES[table][name]
        ours: str | None = None if key.default is REQUIRED else key.render(key.default)
        facts = theirs[name]
        assert (name, key.type.name) == (name, facts["type"])
        assert (name, key.default is REQUIRED) == (name, facts["required"])
        assert (name, key.internal) == (name, facts["internal"])
        if name in in_any_order:
            assert sorted((ours or "").split(",")) == sorted(facts["default"].split(","))
        else:
            assert (name, ours) == (name, facts["default"])


def test_a_broker_setting_is_dynamic_exactly_where_it_is_in_kafka() -> None:
    modes = answer()["update_modes"]
    for name in of_kafka(BROKER_KEYS) | set(DYNAMIC_ONLY_KEYS):
        key = BROKER_KEYS.get(name) or DYNAMIC_ONLY_KEYS[name]
        assert (name, key.scope.value) == (name, modes.get(name, "read-only"))
    assert set(modes) <= set(BROKER_KEYS) | set(DYNAMIC_ONLY_KEYS)


def test_topics_inherit_from_the_same_broker_settings_in_the_same_order() -> None:
    ours = {key.name: [[synonym.broker_key, synonym.multiplier] for synonym in key.synonyms] for key in TOPIC_KEYS.values() if key.synonyms}
    assert ours == answer()["topic_synonyms"]


def test_groups_inherit_from_the_same_broker_settings() -> None:
    assert {key.name: key.synonym for key in GROUP_KEYS.values() if key.name not in LATER_KEYS} == answer()["group_synonyms"]


def test_every_text_is_parsed_shown_or_refused_as_in_kafka() -> None:
    different = []
    asked = list(probes())
    for (table, name, text), theirs in zip(asked, answer()["probes"], strict=True):
        key = TABLES[table][name]
        try:
            ours: str | None = key.render(key.parse(text))
        except ConfigError:
            ours = None
        if ours != (None if isinstance(theirs, dict) else theirs):
            different.append((table, name, text[:40], ours, theirs))
    assert different == [], f"{len(different)} of {len(asked)}: {different[:20]}"


@pytest.mark.parametrize("index", range(len(BROKERS)), ids=lambda index: f"broker{index}")
def test_configurations_are_accepted_and_refused_as_in_kafka(index: int) -> None:
    given, theirs = BROKERS[index], answer()["brokers"][index]
    settings = refusal = None
    try:
        settings = parse_broker_config(given)
    except ConfigError as error:
        refusal = str(error)
    assert ("refused" in theirs) == (refusal is not None), f"{given}: Kafka says {theirs.get('refused')}, we say {refusal}"
    if settings is None:
        return
    assert settings["node.id"] == theirs["node.id"]
    assert [shown(each) for each in listeners(settings)] == theirs["listeners"]
    assert [shown(each) for each in advertised_listeners(settings)] == theirs["advertised"]
    defaults = topic_defaults(settings.values)
    assert {name: TOPIC_KEYS[name].render(defaults[name]) for name in theirs["topic defaults"]} == theirs["topic defaults"]


def shown(listener: Listener) -> list[str | int]:
    return [listener.name, listener.protocol, listener.host, listener.port]


@pytest.mark.parametrize("index", range(len(PROPERTIES)), ids=lambda index: f"properties{index}")
def test_properties_are_read_as_java_reads_them(index: int) -> None:
    theirs = answer()["properties"][index]
    try:
        ours = read_properties(PROPERTIES[index])
    except ConfigError:
        assert "refused" in theirs
        return
    assert ours == theirs
