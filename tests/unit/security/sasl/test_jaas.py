from __future__ import annotations

import pytest

from barnabas.security.sasl.jaas import parse_jaas


def test_a_brokers_plain_entry_lists_its_users() -> None:
    (module,) = parse_jaas(
        "org.apache.kafka.common.security.plain.PlainLoginModule required\n"
        ' username="admin" password="s;e=c" user_alice="a\\"b" user_bob=plain;'
    )
    assert module.name == "PlainLoginModule"
    assert module.options["password"] == "s;e=c"
    assert module.users == {"alice": 'a"b', "bob": "plain"}


def test_several_entries_and_comments() -> None:
    modules = parse_jaas("// first\na.B required x=1; /* second */ C optional y='2';")
    assert [(each.name, each.flag, each.options) for each in modules] == [("B", "required", {"x": "1"}), ("C", "optional", {"y": "2"})]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no entry"),
        ("a.B required x=1", "semicolon"),
        ("a.B x=1;", "one of"),
        ("a.B required x=;", "name=value"),
        ("a.B required x;", "name=value"),
        ('a.B required x="open;', "quote"),
        ("a.B required x=1 x=2;", "twice"),
    ],
)
def test_a_mistake_is_a_sentence(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_jaas(text)


def test_no_secret_is_shown() -> None:
    module = parse_jaas('B required password="hidden";')[0]
    assert "hidden" not in repr(module)
    with pytest.raises(ValueError, match="option 2") as raised:
        parse_jaas('B required password="hidden" "hidden";')
    assert "hidden" not in str(raised.value)
