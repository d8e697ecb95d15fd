"""Command lines of ``acls`` and ``quotas`` that are refused before any request is sent."""

from __future__ import annotations

import pytest

from tests.cli.running import Cli


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("add", "--allow", "alice", "--topic", "t"),
            "A principal is written as Type:name, such as User:alice, but was given 'alice'.",
        ),
        (("add", "--allow", "User:a"), "Name a resource: --topic, --group, --transactional-id, --token, --user, --cluster."),
        (("add", "--topic", "t"), "Name a principal with --allow or --deny, such as --allow User:alice."),
        (
            ("add", "--allow", "User:a", "--group", "g", "--operation", "write"),
            "A group has no operation write; it has read, describe, delete, describe-configs, alter-configs, all.",
        ),
        (("add", "--allow", "User:a", "--consumer", "--topic", "t"), "--consumer needs the group that reads: --group."),
        (("remove",), "Say which rules to remove: name a resource, or a principal with --allow or --deny."),
        (("check", "User:a", "read", "topic"), "Give the name of the topic."),
    ],
)
def test_a_rule_that_cannot_be_is_refused_before_a_request(words: tuple[str, ...], sentence: str) -> None:
    assert Cli("127.0.0.1:1")("acls", *words).complaint == sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("set", "producer_byte_rate=1"), "Name the clients: --user, --client-id or both, their defaults, or --ip."),
        (
            ("set", "--user", "a", "producer_rate=1"),
            (
                "There is no limit 'producer_rate'; there are producer_byte_rate, consumer_byte_rate, request_percentage, "
                "controller_mutation_rate, connection_creation_rate."
            ),
        ),
        (
            ("set", "--user", "a", "producer_byte_rate=fast"),
            "producer_byte_rate takes a number such as 1MB (bytes per second), but was given 'fast'.",
        ),
        (
            ("set", "--user", "a", "request_percentage=5MB"),
            "request_percentage takes a number such as 50% (percent of a thread's time), but was given '5MB'.",
        ),
        (
            ("set", "--ip", "127.0.0.1", "producer_byte_rate=1"),
            "producer_byte_rate is a limit of a user or a client id: --user, --client-id.",
        ),
        (("set", "--user", "a", "connection_creation_rate=1"), "connection_creation_rate is a limit of an address: --ip."),
        (
            ("set", "--user", "a", "--ip", "127.0.0.1", "producer_byte_rate=1"),
            "A limit is for an address, or for a user and a client id, so --ip cannot be given with those.",
        ),
    ],
)
def test_a_limit_that_cannot_be_is_refused_before_a_request(words: tuple[str, ...], sentence: str) -> None:
    assert Cli("127.0.0.1:1")("quotas", *words).complaint == sentence
