from __future__ import annotations

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient, console_of


def test_a_cluster_shows_its_brokers_controller_quorum_disks_and_features(client: ConsoleClient, broker: EmbeddedBroker) -> None:
    shown = client.get("/clusters/local")
    assert shown["health"] == "good"
    assert [f"{each['host']}:{each['port']}" for each in shown["brokers"]] == [broker.bootstrap]
    assert [each["role"] for each in shown["quorum"]] == ["leader"]
    assert shown["disks"][0]["total_bytes"] > shown["disks"][0]["usable_bytes"] > 0
    assert "metadata.version" in [each["name"] for each in shown["features"]]
    page = client.page("/clusters/local")
    assert shown["cluster_id"] in page
    assert "metadata.version" in page


def test_a_dead_cluster_does_not_hide_the_others(broker: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap), ClusterSettings("dead", "127.0.0.1:1")) as console:
        client = console.client()
        found = {each["name"]: each for each in client.get("/clusters")["clusters"]}
        assert found["local"]["health"] == "good"
        assert found["dead"]["health"] == "down"
        assert "cannot be reached" in found["dead"]["missing"][0]
        assert client.http.get("/api/clusters/dead/topics").status_code == 502
        assert "cannot be reached" in client.http.get("/clusters/dead/topics").text


def test_an_unknown_cluster_is_not_found_as_json_and_as_a_page(client: ConsoleClient) -> None:
    answer = client.http.get("/api/clusters/other/topics")
    assert (answer.status_code, answer.json()["error"]) == (404, "There is no cluster other.")
    page = client.http.get("/clusters/other/topics")
    assert page.status_code == 404
    assert "There is no cluster other." in page.text


def test_a_production_cluster_has_its_colour_on_every_page(broker: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("live", broker.bootstrap, production=True, colour="purple")) as console:
        for path in ("/clusters", "/clusters/live", "/clusters/live/topics"):
            page = console.client().page(path)
            assert "colour-purple" in page
            assert "production" in page
