"""Permissions, rules, users, tokens and quotas at a secured broker; the matrix is compared with the
operations that the broker itself tells a client that it may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from playwright.sync_api import Browser

from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.browser import opened_page, screenshot, serious_problems, wider_than_the_screen
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

_SECURITY = "/clusters/secured/security"


@pytest.fixture(scope="module")
def secured() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True, config={"delegation.token.secret.key": "the-key-of-tokens"}) as started:
        yield started


@pytest.fixture(scope="module")
def of_admin(secured: EmbeddedBroker) -> Iterator[ConsoleThread]:
    properties = {name: value for name, value in secured.client_settings.items() if name != "bootstrap.servers"}
    with console_of(ClusterSettings("secured", secured.bootstrap, properties)) as started:
        yield started


@pytest.fixture
def admin(of_admin: ConsoleThread) -> ConsoleClient:
    return of_admin.client()


def _row(admin: ConsoleClient, principal: str, **query: str) -> dict[str, bool]:
    rows = admin.get(_SECURITY, **query, size=500)["page"]["items"]
    (cells,) = [each["cells"] for each in rows if each["principal"] == principal]
    return {each["operation"]: each["is_allowed"] for each in cells}


def _listed(admin: ConsoleClient, what: str, search: str, total: int) -> list[dict[str, Any]]:
    """The entries, as soon as the broker has applied the last change."""

    def found() -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = admin.get(f"{_SECURITY}/{what}", search=search)["page"]["items"]
        return items

    until(lambda: len(found()) == total, f"the list of {what} has {total} entries")
    return found()


def _told(operations: Iterable[Enum] | None) -> set[str]:
    """librdkafka returns None for a user that may do nothing."""
    return {each.name.lower().replace("_", "-") for each in operations or ()}


def test_the_matrix_is_what_the_broker_tells_each_user_that_it_may_do(admin: ConsoleClient, secured: EmbeddedBroker) -> None:
    prefix, group = f"orders-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}"
    topics = [f"{prefix}-a", f"{prefix}-b", f"other-{uuid4().hex[:8]}"]
    for name in topics:
        admin.post("/clusters/secured/topics", name=name, partitions=1)
    users = [f"user-{uuid4().hex[:8]}" for _ in range(3)]
    settings = {user: secured.add_user(user) for user in users}
    alice, bob, carol = (f"User:{each}" for each in users)
    rules: list[dict[str, str]] = [
        {"principal": alice, "operation": "read", "resource_type": "topic", "name": prefix, "pattern": "prefixed"},
        {"principal": alice, "operation": "alter-configs", "resource_type": "topic", "name": topics[0]},
        {"principal": alice, "operation": "describe", "resource_type": "topic", "name": topics[1], "permission": "deny"},
        {"principal": bob, "operation": "all", "resource_type": "topic", "name": "*"},
        {"principal": bob, "operation": "delete", "resource_type": "topic", "name": topics[0], "permission": "deny"},
        {"principal": "User:*", "operation": "describe", "resource_type": "topic", "name": topics[2]},
        {"principal": carol, "operation": "read", "resource_type": "group", "name": group[:8], "pattern": "prefixed"},
        {"principal": carol, "operation": "describe", "resource_type": "cluster"},
        {"principal": bob, "operation": "alter", "resource_type": "cluster"},
    ]
    for rule in rules:
        admin.post(f"{_SECURITY}/rules", **rule)
    for principal, total in ((alice, 3), (bob, 3), (carol, 2)):
        _listed(admin, "rules", principal, total)
    # librdkafka looks for a coordinator three times within 200 ms, and never completes the call if
    # there is none by then. So the coordinators exist before.
    secured.group_offsets(group, topics[0])
    # A group that exists, so that the broker describes it.
    keeper = AdminClient({**secured.client_settings})
    offsets = [ConsumerGroupTopicPartitions(group, [TopicPartition(topics[0], 0, 0)])]
    for each in keeper.alter_consumer_group_offsets(offsets).values():
        each.result(60)
    for user in users:
        client = AdminClient({**settings[user]})
        for name, described in client.describe_topics(TopicCollection(topics), include_authorized_operations=True).items():
            shown = {operation for operation, allowed in _row(admin, f"User:{user}", resource_type="topic", name=name).items() if allowed}
            if described.exception(60) is not None:
                assert "describe" not in shown, (user, name)
            else:
                assert _told(described.result().authorized_operations) == shown, (user, name)
        cluster = client.describe_cluster(include_authorized_operations=True).result(60)
        shown = {operation for operation, allowed in _row(admin, f"User:{user}", resource_type="cluster").items() if allowed}
        assert _told(cluster.authorized_operations) == shown, user
        (described_group,) = client.describe_consumer_groups([group], include_authorized_operations=True).values()
        shown = {operation for operation, allowed in _row(admin, f"User:{user}", resource_type="group", name=group).items() if allowed}
        if described_group.exception(60) is None:
            assert _told(described_group.result().authorized_operations) == shown, user
        else:
            assert "describe" not in shown, user
    assert all(_row(admin, "User:admin", resource_type="topic", name=topics[0]).values())
    page = admin.page(_SECURITY, resource_type="topic", name=topics[0], search=alice)
    assert f"topics that begin with {prefix}" in page


def test_rules_are_added_listed_and_removed(admin: ConsoleClient) -> None:
    principal = f"User:{uuid4().hex[:8]}"
    rule = {"principal": principal, "operation": "write", "resource_type": "topic", "name": "pay", "pattern": "prefixed"}
    added = admin.post(f"{_SECURITY}/rules", **rule)
    assert added["done"] == f"The rule is added: {principal} may write topics that begin with pay."
    (listed,) = _listed(admin, "rules", principal, 1)
    assert (listed["permission"], listed["operation"], listed["pattern"], listed["host"]) == ("allow", "write", "prefixed", "*")
    assert principal in admin.page(f"{_SECURITY}/rules", search=principal)
    admin.post(f"{_SECURITY}/rules/remove", **rule)
    _listed(admin, "rules", principal, 0)
    assert admin.try_post(f"{_SECURITY}/rules/remove", **rule).status_code == 404
    for bad in ({"principal": "alice"}, {"operation": "cluster-action"}, {"name": ""}, {"operation": "fly"}):
        assert admin.try_post(f"{_SECURITY}/rules", **{**rule, **bad}).status_code == 400, bad


def test_a_user_is_created_logs_in_gets_another_password_and_is_removed(admin: ConsoleClient, secured: EmbeddedBroker) -> None:
    user = f"user-{uuid4().hex[:8]}"
    admin.post(f"{_SECURITY}/users", user=user, password="first-password", new_only=True)
    (listed,) = _listed(admin, "users", user, 1)
    assert admin.try_post(f"{_SECURITY}/users", user=user, password="other", new_only=True).status_code == 400
    assert listed == {"name": user, "credentials": [{"mechanism": "SCRAM-SHA-512", "iterations": 8192}]}
    page = admin.page(f"{_SECURITY}/users", search=user)
    assert user in page
    assert "first-password" not in page

    def may_log_in(password: str) -> bool:
        """As a person does, at the console's login for the same cluster."""
        properties = {name: value for name, value in secured.client_settings.items() if not name.startswith(("sasl.", "bootstrap"))}
        with console_of(ClusterSettings("secured", secured.bootstrap, {**properties, "sasl.mechanism": "SCRAM-SHA-512"})) as console:
            return console.client().log_in("secured", user, password).status_code == 200

    until(lambda: may_log_in("first-password"), "the new user logs in")
    admin.post(f"{_SECURITY}/users", user=user, password="second-password")
    until(lambda: may_log_in("second-password"), "the user logs in with the new password")
    assert "second-password" not in str(admin.get("/audit"))
    admin.post(f"{_SECURITY}/users/remove", user=user)
    _listed(admin, "users", user, 0)
    assert admin.try_post(f"{_SECURITY}/users/remove", user=user).status_code == 404


def test_the_password_of_a_token_is_shown_once_and_works(admin: ConsoleClient, secured: EmbeddedBroker) -> None:
    created = admin.post(f"{_SECURITY}/tokens", hours=2, renewers="User:alice")
    token, password = created["token"]["id"], created["password"]
    assert created["token"]["owner"] == "User:admin"
    (listed,) = [each for each in admin.get(f"{_SECURITY}/tokens", size=500)["page"]["items"] if each["id"] == token]
    assert listed["renewers"] == ["User:alice"]
    assert "password" not in listed
    assert "hmac" not in listed
    page = admin.page(f"{_SECURITY}/tokens", size=500)
    assert token in page
    assert password not in page
    assert password not in str(admin.get("/audit"))
    renewed = admin.post(f"{_SECURITY}/tokens/renew", token=token, hours=1)
    assert renewed["done"].startswith(f"The token {token} is valid until ")
    admin.post(f"{_SECURITY}/tokens/expire", token=token)
    assert admin.try_post(f"{_SECURITY}/tokens/expire", token=token).status_code == 404
    shown = admin.http.post(f"{_SECURITY}/tokens", data={"csrf_token": admin.token})
    assert shown.status_code == 200
    assert "copy it now" in shown.text


def test_quotas_are_set_listed_changed_and_removed(admin: ConsoleClient) -> None:
    user = f"user-{uuid4().hex[:8]}"
    done = admin.post(f"{_SECURITY}/quotas", user=user, name="producer_byte_rate", value="1MB")
    assert done["done"] == f"producer_byte_rate of user {user} is 1 MB/s."
    admin.post(f"{_SECURITY}/quotas", user=user, client_id="<default>", name="request_percentage", value="50%")
    admin.post(f"{_SECURITY}/quotas", ip="127.0.0.9", name="connection_creation_rate", value="10")
    found = _listed(admin, "quotas", user, 2)
    assert [(each["user"], each["client_id"], each["limits"]) for each in found] == [
        (user, None, {"producer_byte_rate": 1_000_000.0}),
        (user, "<default>", {"request_percentage": 50.0}),
    ]
    assert "1 MB/s" in admin.page(f"{_SECURITY}/quotas", search=user)
    admin.post(f"{_SECURITY}/quotas", user=user, name="producer_byte_rate", remove=True)
    _listed(admin, "quotas", user, 1)
    admin.post(f"{_SECURITY}/quotas", ip="127.0.0.9", name="connection_creation_rate", remove=True)
    for bad in (
        {"user": user, "name": "producer_byte_rate", "value": "fast"},
        {"name": "producer_byte_rate", "value": "1"},
        {"ip": "127.0.0.9", "name": "producer_byte_rate", "value": "1"},
        {"user": user, "ip": "127.0.0.9", "name": "producer_byte_rate", "value": "1"},
    ):
        assert admin.try_post(f"{_SECURITY}/quotas", **bad).status_code == 400, bad


@pytest.mark.parametrize("path", ["?resource_type=cluster", "/rules", "/users", "/tokens", "/quotas"])
def test_a_page_of_a_secured_cluster_is_accessible(of_admin: ConsoleThread, browser: Browser, path: str) -> None:
    admin = of_admin.client()
    rule = {"principal": "User:shown", "operation": "describe", "resource_type": "cluster", "host": "10.0.0.1"}
    admin.post(f"{_SECURITY}/rules", **rule)
    admin.post(f"{_SECURITY}/quotas", user="shown", name="producer_byte_rate", value="1MB")
    admin.post(f"{_SECURITY}/tokens")
    with opened_page(browser, of_admin.url) as page:
        page.goto(f"{_SECURITY}{path}")
        for summary in page.locator("main summary").all()[:3]:
            summary.click()
        assert serious_problems(page) == []
        screenshot(page, f"secured{path.partition('?')[0].replace('/', '-') or '-permissions'}")
        page.set_viewport_size({"width": 360, "height": 740})
        assert wider_than_the_screen(page) <= 0


def test_a_cluster_without_security_says_so_in_a_sentence(client: ConsoleClient) -> None:
    plain = "/clusters/local/security"
    (sentence,) = client.get(f"{plain}/rules")["missing"]
    assert sentence.startswith("The brokers have no authorizer")
    assert sentence in client.get(plain, name="orders")["missing"]
    assert sentence in client.page(f"{plain}/rules")
    assert client.try_post(f"{plain}/rules", principal="User:a", operation="read", name="t").status_code == 502
    assert client.get(f"{plain}/tokens")["missing"].startswith("Cannot list the tokens: ")
    assert "No user has SCRAM credentials" in client.page(f"{plain}/users")
    assert "no client is limited" in client.page(f"{plain}/quotas")
