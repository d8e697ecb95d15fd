from __future__ import annotations

import pytest

from barnabas.security.principal_mapping import map_subject, parse_mapping_rules


@pytest.mark.parametrize(
    ("rules", "subject", "name"),
    [
        ("DEFAULT", "CN=a,O=b", "CN=a,O=b"),
        ("", "CN=a", "CN=a"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=kafka1,OU=ServiceUsers,O=x", "kafka1"),
        ("RULE:^CN=(.*?),.*$/$1@corp/L, DEFAULT", "CN=Kafka1,O=x", "kafka1@corp"),
        ("RULE:^CN=(.*?)$/$1/U", "CN=duke", "DUKE"),
        ("RULE:^CN=([^,]*),O=.*$/$1/,RULE:^CN=(.*)$/second-$1/", "CN=b", "second-b"),
        ("RULE:^CN=(.*)$/$1-$7/", "CN=b", "b-$7"),
        (r"RULE:^CN=a\/b$/x/", "CN=a/b", "x"),
        ("RULE:^CN=(.*)$/$1/", "O=b", None),
    ],
)
def test_the_first_rule_that_matches_names_the_user(rules: str, subject: str, name: str | None) -> None:
    assert map_subject(parse_mapping_rules(rules), subject) == name


@pytest.mark.parametrize("rules", ["RULE:", "RULE:a/b", "RULE:(/x/", "default", "RULE:a/b/c/d", "RULE:a/b/X"])
def test_a_broken_rule_is_a_sentence(rules: str) -> None:
    with pytest.raises(ValueError, match=r"rule is|regular expression"):
        parse_mapping_rules(rules)
