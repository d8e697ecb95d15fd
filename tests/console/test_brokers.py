from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient, console_of
from tests.console.disks_of_tests import moves_are_planned_seen_cancelled_and_made
from tests.waiting import until

_BROKERS = "/clusters/local/brokers"


@pytest.fixture
def broker_id(client: ConsoleClient) -> int:
    found: int = client.get(_BROKERS)["brokers"][0]["id"]
    return found


@pytest.fixture
def own_settings(client: ConsoleClient, broker_id: int) -> Iterator[str]:
    """The address of a broker's settings; those that the test changes are unset afterwards."""
    yield f"{_BROKERS}/{broker_id}/settings"
    for broker in (broker_id, "all"):
        client.post(f"{_BROKERS}/{broker}/settings", name="log.cleaner.threads", unset=True)


def _setting(client: ConsoleClient, address: str, name: str) -> dict[str, object]:
    (found,) = [each for each in client.get(address, search=name)["settings"] if each["name"] == name]
    return dict(found)


def test_brokers_are_listed_with_their_load_version_and_disks(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    (found,) = client.get(_BROKERS)["brokers"]
    assert found["address"] == broker.bootstrap
    assert (found["is_fenced"], found["is_controller"], found["version"]) == (False, True, "4.3-IV0")
    assert found["leads"] >= 3
    assert found["replicas"] == found["preferred"] == found["leads"]
    (disk,) = found["disks"]
    assert disk["total_bytes"] > disk["usable_bytes"] > 0
    assert (disk["error"], disk["is_cordoned"]) == (None, False)
    assert disk["path"] in client.page(_BROKERS)


def test_a_broker_shows_its_directories_replicas_and_features(client: ConsoleClient, broker_id: int, topic: str) -> None:
    shown = client.get(f"{_BROKERS}/{broker_id}")
    assert list(shown["replicas_by_directory"].values()) == [shown["broker"]["replicas"]]
    assert shown["largest_replicas"]
    assert "metadata.version" in [each["name"] for each in shown["features"]]
    page = client.page(f"{_BROKERS}/{broker_id}")
    assert shown["broker"]["disks"][0]["path"] in page
    assert client.http.get(f"/api{_BROKERS}/77").status_code == 404
    assert client.http.get(f"/api{_BROKERS}/one").status_code == 400


def test_the_quorum_has_a_leader_an_epoch_and_voters(client: ConsoleClient, broker_id: int) -> None:
    shown = client.get(f"{_BROKERS}/quorum")
    (replica,) = shown["replicas"]
    assert (replica["id"], replica["role"], replica["lag"]) == (shown["leader"], "leader", 0)
    assert shown["epoch"] >= 1
    assert shown["high_watermark"] > 0
    assert replica["endpoints"][0] in client.page(f"{_BROKERS}/quorum")


def test_features_show_the_level_in_force_and_the_levels_of_each_broker(client: ConsoleClient, broker_id: int) -> None:
    found = {each["name"]: each for each in client.get(f"{_BROKERS}/features")["features"]}
    version = found["metadata.version"]
    assert (version["level"], version["release"]) == (30, "4.3-IV0")
    assert version["by_broker"] == {str(broker_id): f"{version['lowest']} to {version['highest']}"}
    assert "4.3-IV0" in client.page(f"{_BROKERS}/features")


def test_a_setting_is_previewed_changed_and_reset(client: ConsoleClient, own_settings: str) -> None:
    name = "log.cleaner.threads"
    before = _setting(client, own_settings, name)
    assert before["documentation"]
    preview = client.get(f"{own_settings}/change", name=name, value=2)
    (effect,) = preview["effects"]
    assert (effect["before"], effect["after"], effect["after_source"]) == (before["value"], "2", "this broker, changed at run time")
    assert preview["refused"] is None
    assert _setting(client, own_settings, name) == before
    assert "Nothing is changed yet." in client.page(f"{own_settings}/change", name=name, value=2)
    client.post(own_settings, name=name, value=2)
    until(lambda: _setting(client, own_settings, name)["value"] == "2", "the broker has the new value")
    changed = client.get(own_settings, changed_only=True)["settings"]
    assert (name, "this broker, changed at run time") in [(each["name"], each["source"]) for each in changed]
    assert {each["source"] for each in changed} <= {"this broker, changed at run time", "all brokers, changed at run time"}
    (effect,) = client.get(f"{own_settings}/change", name=name, unset=True)["effects"]
    assert (effect["before"], effect["after"]) == ("2", before["value"])
    client.post(own_settings, name=name, unset=True)
    until(lambda: _setting(client, own_settings, name) == before, "the broker has its old value")
    assert name in client.page(own_settings, search=name)


def test_a_change_for_all_brokers_does_not_reach_one_with_a_value_of_its_own(client: ConsoleClient, own_settings: str) -> None:
    name, all_settings = "log.cleaner.threads", f"{_BROKERS}/all/settings"
    client.post(all_settings, name=name, value=3)
    until(lambda: _setting(client, own_settings, name)["value"] == "3", "the broker has the value of all")
    assert name in [each["name"] for each in client.get(all_settings)["settings"]]
    client.post(own_settings, name=name, value=2)
    until(lambda: _setting(client, own_settings, name)["value"] == "2", "the broker has its own value")
    (effect,) = client.get(f"{all_settings}/change", name=name, value=4)["effects"]
    assert (effect["before"], effect["after"]) == ("2", "2")
    assert "no change" in client.page(f"{all_settings}/change", name=name, value=4)


def test_a_preview_shows_the_reason_of_the_broker_that_would_refuse(client: ConsoleClient, own_settings: str) -> None:
    preview = client.get(f"{own_settings}/change", name="log.cleaner.threads", value="many")
    assert preview["refused"].startswith("Cannot change the settings of")
    assert preview["refused"] in client.page(f"{own_settings}/change", name="log.cleaner.threads", value="many").replace("&#39;", "'")
    fixed = client.get(f"{own_settings}/change", name="node.id", value=9)
    assert fixed["refused"] is not None
    assert client.http.get(f"/api{own_settings}/change", params={"name": "no.such.setting"}).status_code == 404


def test_a_secret_setting_is_neither_in_an_address_nor_in_the_audit_log(client: ConsoleClient, own_settings: str) -> None:
    name = "listener.name.plaintext.ssl.keystore.password"
    shown = client.http.get(f"/api{own_settings}/change", params={"name": "ssl.keystore.password", "value": "tell-nobody"})
    assert shown.status_code == 400
    client.try_post(own_settings, name=name, value="tell-nobody")
    (entry,) = [each for each in client.get("/audit")["entries"] if each["parameters"].get("name") == name]
    assert "tell-nobody" not in str(entry)


def test_the_level_of_a_logger_is_changed_and_reset(client: ConsoleClient, broker_id: int) -> None:
    address = f"{_BROKERS}/{broker_id}/loggers"

    def level(name: str) -> str:
        (found,) = [each["level"] for each in client.get(address)["loggers"] if each["name"] == name]
        return str(found)

    before = level("root")
    try:
        client.post(address, name="root", level="DEBUG")
        assert level("root") == "DEBUG"
        assert "DEBUG" in client.page(address)
    finally:
        client.post(address, name="root", level=before)
    assert client.try_post(address, name="root", level="LOUD").status_code == 400
    assert client.try_post(address, name="no.such.logger", level="INFO").status_code == 400


def test_replicas_move_between_the_directories_of_a_broker(tmp_path: Path) -> None:
    directories = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"}
    with (
        EmbeddedBroker(config=directories, data_dir=tmp_path) as two_disks,
        console_of(ClusterSettings("disks", two_disks.bootstrap)) as own,
    ):
        moves_are_planned_seen_cancelled_and_made(own.client(), "disks", two_disks.bootstrap)


def test_replicas_of_a_broker_are_listed_by_directory_and_ordered(client: ConsoleClient, broker_id: int, topic: str) -> None:
    disks = f"{_BROKERS}/{broker_id}/disks"
    shown = client.get(disks, search=topic, sort="-topic")
    assert [each["partition"] for each in shown["page"]["items"]] == [0, 1, 2]
    path = shown["disks"][0]["path"]
    assert shown["replicas_by_directory"][path] == client.get(disks)["page"]["total"]
    assert client.get(disks, directory="/elsewhere")["page"]["total"] == 0
    sizes = [each["size_bytes"] for each in client.get(disks, sort="size")["page"]["items"]]
    assert sizes == sorted(sizes)
    refused = client.http.get(f"/api{disks}/plan", params={"replicas": f"{topic}/0", "to": "/elsewhere"})
    assert (refused.status_code, refused.json()["error"]) == (400, f"Broker {broker_id} has no directory /elsewhere.")
    assert client.get(f"{disks}/plan", replicas=f"{topic}/0", to=path)["unmoved"] == [f"{topic}/0 is in {path} already."]


def test_a_level_of_a_feature_is_checked_lowered_and_raised(client: ConsoleClient) -> None:
    features = f"{_BROKERS}/features"

    def level() -> int:
        found: int = next(each["level"] for each in client.get(features)["features"] if each["name"] == "streams.version")
        return found

    assert level() == 1
    preview = client.get(f"{features}/change", name="streams.version", level=0)
    assert (preview["before"], preview["after"], preview["is_downgrade"], preview["refused"]) == (1, 0, True, None)
    assert "Lower it" in client.page(f"{features}/change", name="streams.version", level=0)
    assert level() == 1
    client.post(features, name="streams.version", level=0, before=1)
    until(lambda: level() == 0, "the lower level is in force")
    assert client.try_post(features, name="streams.version", level=1, before=1).status_code == 400
    client.post(features, name="streams.version", level=1)
    until(lambda: level() == 1, "the level is in force again")
    refused = client.get(f"{features}/change", name="metadata.version", level=29)
    assert refused["refused"].startswith("The level of metadata.version cannot be 29: ")
    assert "cannot be 29" in client.page(f"{features}/change", name="metadata.version", level=29)
    assert client.http.get(f"/api{features}/change", params={"name": "no.version", "level": 1}).status_code == 404
    (entry,) = [each for each in client.get("/audit")["entries"] if each["operation"] == "set_feature" and "level" in each["outcome"]][:1]
    assert "meanwhile" in entry["outcome"]
