from __future__ import annotations

from barnabas.registry.core.contracts import merged_metadata, merged_rules, numbered, without_rules, without_version


def test_metadata_is_merged_part_by_part() -> None:
    below = {"tags": {"p": ["A"]}, "properties": {"x": "1", "y": "1"}, "sensitive": ["x"]}
    above = {"tags": {"p": ["B", "A"], "q": ["C"]}, "properties": {"y": "2"}, "sensitive": ["y"]}
    assert merged_metadata(below, above) == {
        "tags": {"p": ["A", "B"], "q": ["C"]},
        "properties": {"x": "1", "y": "2"},
        "sensitive": ["x", "y"],
    }
    assert merged_metadata(None, above) == above
    assert merged_metadata(below, None) == below


def test_rules_of_one_name_replace_each_other() -> None:
    below = {"domainRules": [{"name": "a", "expr": "1"}, {"name": "b"}], "enableAt": "CLIENT"}
    above = {"domainRules": [{"name": "a", "expr": "2"}], "migrationRules": [{"name": "m"}]}
    assert merged_rules(below, above) == {
        "domainRules": [{"name": "b"}, {"name": "a", "expr": "2"}],
        "migrationRules": [{"name": "m"}],
        "enableAt": "CLIENT",
    }
    assert without_rules(below, frozenset({"a"})) == {"domainRules": [{"name": "b"}], "enableAt": "CLIENT"}
    assert without_rules(None, frozenset({"a"})) is None


def test_the_number_of_a_version_comes_and_goes() -> None:
    assert numbered(None, 3) == {"properties": {"confluent:version": "3"}}
    assert without_version(numbered({"tags": {"p": ["A"]}}, 3)) == {"tags": {"p": ["A"]}}
    assert without_version(None) is None
