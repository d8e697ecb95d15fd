"""Requests to a schema registry, with errors that the command line shows."""

from __future__ import annotations

from typing import Any, Final

from barnabas.cli.errors import Refused
from barnabas.registry_client.client import RegistryClient
from barnabas.registry_client.errors import RegistryError
from barnabas.registry_client.requests import escaped
from barnabas.registry_client.settings import RegistrySettings

# A registry waits up to a minute for Kafka when it writes, and a person at a terminal can wait.
ANSWER_SECONDS_MAX: Final = 70.0


class Registry:
    def __init__(self, url: str, login: str | None = None, trusted: str | None = None) -> None:
        """``login`` is ``name:password``; ``trusted`` the file of trusted authorities."""
        settings: dict[str, object] = {"url": url, "timeout": ANSWER_SECONDS_MAX}
        if login is not None:
            settings["basic.auth.user.info"] = login if ":" in login else f"{login}:"
        if trusted is not None:
            settings["ssl.ca.location"] = trusted
        try:
            self._client = RegistryClient(RegistrySettings.of(settings))
        except RegistryError as error:
            raise Refused(str(error)) from error

    def ask(self, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
        """The answer as JSON. Raises ``Refused`` with the registry's own sentence."""
        try:
            # Closed each time: a command asks once or twice, and then waits for a person.
            with self._client:
                return self._client.ask(method, path, body, query=query)
        except RegistryError as error:
            raise Refused(str(error)) from error

    def versions(self, subject: str) -> list[int]:
        return list(self.ask("GET", f"/subjects/{escaped(subject)}/versions"))

    def version(self, subject: str, version: str) -> dict[str, Any]:
        return dict(self.ask("GET", f"/subjects/{escaped(subject)}/versions/{escaped(version)}"))
