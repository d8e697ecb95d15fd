from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.config_file import console_settings, read_config_file
from barnabas.console.settings import ClusterSettings, ConsoleSettings, LoginMode, check
from barnabas.console.web.words import bytes_text, count_text, duration_text


def test_a_file_names_clusters_with_properties_of_java_or_librdkafka(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n")
    file = tmp_path / "console.yaml"
    file.write_text(
        "listen: 0.0.0.0:80\nlogin: users\nread_only: true\nclusters:\n"
        "  a: {bootstrap: 'k1:9092,k2:9092', properties_file: client.properties, production: true, colour: red}\n"
        "  b: {bootstrap: 'k3:9092', properties: {security.protocol: sasl_plaintext}, registry: 'http://r:8081'}\n"
    )
    settings = read_config_file(file)
    check(settings)
    assert (settings.host, settings.port, settings.login, settings.read_only) == ("0.0.0.0", 80, LoginMode.USERS, True)
    first, second = settings.clusters
    assert (first.name, first.addresses, first.production, first.colour) == ("a", ["k1:9092", "k2:9092"], True, "red")
    assert first.properties["sasl.mechanism"] == "PLAIN"
    assert second.registry == "http://r:8081"


@pytest.mark.parametrize(
    ("read", "sentence"),
    [
        ({"cluster": {}}, "has no setting 'cluster'"),
        ({"clusters": {"a": {}}}, "The cluster a has no bootstrap"),
        ({"clusters": {"a": {"bootstrap": "k:1", "read-only": True}}}, "has no setting 'read-only'"),
        ({"read_only": "yes"}, "read_only is a bool"),
        ({"login": "maybe"}, "is one of none, users"),
        ({"listen": "here"}, "listens on HOST:PORT"),
        ([], "is a mapping"),
    ],
)
def test_a_mistake_in_the_file_is_a_sentence(read: object, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsRefused, match=sentence):
        console_settings(read, tmp_path)


@pytest.mark.parametrize("name", ["a/b", "", "-a", "a" * 65, "ä"])
def test_a_name_of_a_cluster_is_part_of_addresses(name: str) -> None:
    with pytest.raises(SettingsRefused, match="cannot name a cluster"):
        check(ConsoleSettings((ClusterSettings(name, "k:1"),)))


def test_a_cluster_with_users_wants_a_login_unless_the_settings_have_one() -> None:
    sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512"}
    settings = ConsoleSettings((ClusterSettings("a", "k:1"),))
    assert not settings.needs_login(ClusterSettings("a", "k:1"))
    assert settings.needs_login(ClusterSettings("a", "k:1", sasl))
    assert not settings.needs_login(ClusterSettings("a", "k:1", {**sasl, "sasl.username": "u", "sasl.password": "p"}))


def test_numbers_are_shown_as_people_read_them() -> None:
    assert [bytes_text(each) for each in (None, -1, 0, 1023, 1024, 150 * 1024, 10**12)] == [
        "\N{EN DASH}",
        "\N{EN DASH}",
        "0 B",
        "1023 B",
        "1.0 KiB",
        "150 KiB",
        "931 GiB",
    ]
    assert count_text(1234567) == "1\u202f234\u202f567"
    assert [duration_text(each) for each in (None, -3, 0.25, 59, 60, 3_725, 90_000)] == [
        "\N{EN DASH}",
        "0 s",
        "0.2 s",
        "59 s",
        "1 min",
        "1 h 2 min",
        "1 d 1 h",
    ]
