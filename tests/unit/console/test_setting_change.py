from __future__ import annotations

from barnabas.console.core.config_value import ConfigSource, ConfigValue, Synonym
from barnabas.console.core.setting_change import effects

_OWN, _ALL, _FILE, _DEFAULT = ConfigSource.BROKER_DYNAMIC, ConfigSource.BROKERS_DYNAMIC, ConfigSource.BROKER_FILE, ConfigSource.DEFAULT


def _value(*synonyms: Synonym, is_sensitive: bool = False) -> ConfigValue:
    first = synonyms[0]
    return ConfigValue("threads", first.value, first.source, "int", is_sensitive, False, "", list(synonyms))


def _synonym(value: str, source: ConfigSource, name: str = "threads") -> Synonym:
    return Synonym(name, value, source)


def test_a_change_for_all_brokers_has_no_effect_on_a_broker_with_a_value_of_its_own() -> None:
    own = _value(_synonym("5", _OWN), _synonym("3", _DEFAULT))
    other = _value(_synonym("3", _DEFAULT))
    first, second = effects({2: own, 1: other}, _ALL, "8")
    assert (first.broker, first.after, first.after_source, first.is_change) == (1, "8", _ALL, True)
    assert (second.broker, second.after, second.after_source, second.is_change) == (2, "5", _OWN, False)


def test_a_reset_falls_back_to_the_next_place() -> None:
    value = _value(_synonym("5", _OWN), _synonym("4", _FILE), _synonym("3", _DEFAULT))
    (effect,) = effects({1: value}, _OWN, None)
    assert (effect.before, effect.before_source, effect.after, effect.after_source) == ("5", _OWN, "4", _FILE)


def test_a_setting_in_another_unit_comes_behind_the_setting_itself() -> None:
    value = _value(_synonym("9", _OWN, "threads.other"), _synonym("3", _DEFAULT, "threads.other"))
    (effect,) = effects({1: value}, _ALL, "8")
    assert (effect.after, effect.after_source) == ("8", _ALL)


def test_a_secret_stays_hidden() -> None:
    (effect,) = effects({1: _value(_synonym("old", _FILE), is_sensitive=True)}, _OWN, "new")
    assert effect.after is None
    assert effect.after_source is _OWN
