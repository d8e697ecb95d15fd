"""The SASL settings of one listener.

A setting is looked up for the listener and the mechanism, then for the listener, then for the node:
``listener.name.<listener>.<mechanism>.<key>``, ``listener.name.<listener>.<key>``, ``<key>``.
"""

from __future__ import annotations

from barnabas.config.keys import Value
from barnabas.config.listeners import security_protocols
from barnabas.config.settings import BrokerSettings

_WITH_SASL = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})


def uses_sasl(settings: BrokerSettings, listener: str) -> bool:
    return security_protocols(settings).get(listener) in _WITH_SASL


class SaslSettings:
    def __init__(self, settings: BrokerSettings, listener: str) -> None:
        """``listener`` is a name in upper case."""
        self._settings = settings
        self._own = settings.of_listeners.get(listener, {})
        enabled = self._value("sasl.enabled.mechanisms")
        assert isinstance(enabled, tuple)
        self.enabled: tuple[str, ...] = enabled
        self.receive_bytes_max = self._integer("sasl.server.max.receive.size")

    def jaas(self, mechanism: str) -> str | None:
        found = self._value("sasl.jaas.config", mechanism)
        return None if found is None else str(found)

    def session_ms_max(self, mechanism: str) -> int:
        return self._integer("connections.max.reauth.ms", mechanism)

    def text(self, name: str, mechanism: str = "") -> str | None:
        found = self._value(name, mechanism)
        return None if found is None else str(found)

    def strings(self, name: str) -> tuple[str, ...]:
        found = self._value(name)
        assert found is None or isinstance(found, tuple), name
        return found or ()

    def number(self, name: str) -> float:
        found = self._value(name)
        assert isinstance(found, int | float), name
        return found

    def integer_or_none(self, name: str) -> int | None:
        return None if self._value(name) is None else self._integer(name)

    def integer(self, name: str) -> int:
        return self._integer(name)

    def _integer(self, name: str, mechanism: str = "") -> int:
        found = self._value(name, mechanism)
        assert isinstance(found, int), name
        return found

    def _value(self, name: str, mechanism: str = "") -> Value:
        for own in (f"{mechanism.lower()}.{name}", name):
            if own in self._own:
                return self._own[own]
        return self._settings[name]
