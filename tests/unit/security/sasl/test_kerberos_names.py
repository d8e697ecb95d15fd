from __future__ import annotations

import pytest

from barnabas.security.sasl.kerberos_names import PRINCIPAL_LENGTH_MAX, local_name, parse_name_rules

REALM = "EXAMPLE.COM"


@pytest.mark.parametrize(
    ("rules", "principal", "name"),
    [
        (["DEFAULT"], "alice@EXAMPLE.COM", "alice"),
        (["DEFAULT"], "kafka/host@EXAMPLE.COM", "kafka"),
        (["DEFAULT"], "alice@OTHER.COM", None),
        ([], "alice@EXAMPLE.COM", "alice"),
        (["RULE:[1:$1]"], "alice@OTHER.COM", "alice"),
        (["RULE:[1:$1]"], "kafka/host@OTHER.COM", None),
        (["RULE:[2:$1-$2](kafka-.*)"], "kafka/host@OTHER.COM", "kafka-host"),
        (["RULE:[1:$1@$0](.*@OTHER\\.COM)s/@.*//", "DEFAULT"], "bob@OTHER.COM", "bob"),
        (["RULE:[1:$1@$0](.*@OTHER\\.COM)s/@.*//", "DEFAULT"], "bob@EXAMPLE.COM", "bob"),
        (["RULE:[1:$1@$0](.*@OTHER\\.COM)s/@.*///L"], "Bob@OTHER.COM", "bob"),
        (["RULE:[1:$1]/U"], "bob@OTHER.COM", "BOB"),
        (["RULE:[1:$1]/L"], "BOB@OTHER.COM", "bob"),
        (["RULE:[1:$1]s/a/o/g"], "banana@X", "bonono"),
        (["RULE:[1:$1]s/a/o/"], "banana@X", "bonana"),
        (["RULE:[1:$1](b.*)s/^(.)(.*)$/$2$1/"], "bob@X", "obb"),
        (["RULE:[1:$1@$0]"], "bob@X", None),  # the result still has an @
        (["RULE:[1:$1](x.*)", "RULE:[1:user-$1]"], "bob@X", "user-bob"),
        (["DEFAULT"], "alice", "alice"),
        (["DEFAULT"], "a/b/c@X", None),
        (["DEFAULT"], "@EXAMPLE.COM", None),
        (["DEFAULT"], "", None),
        (["RULE:[1:$1]"], "x" * (PRINCIPAL_LENGTH_MAX + 1), None),
    ],
)
def test_the_first_rule_that_applies_names_the_user(rules: list[str], principal: str, name: str | None) -> None:
    assert local_name(parse_name_rules(rules), principal, REALM) == name


@pytest.mark.parametrize("rule", ["", "default", "RULE:", "RULE:[x:$1]", "RULE:[1:$1](", "RULE:[1:$1](*)", "RULE:[3:$1]", "RULE:[1:$1]/X"])
def test_a_text_that_is_not_a_rule_is_a_sentence(rule: str) -> None:
    with pytest.raises(ValueError, match=r"rule|regular expression"):
        parse_name_rules([rule])
