"""A console beside a development cluster."""

from __future__ import annotations

from pathlib import Path

from barnabas.cli.beside import ProgramBeside
from barnabas.cli.console.command import DEFAULT_NAME


class ConsoleBeside(ProgramBeside):
    def __init__(self, port: int, registry_url: str | None) -> None:
        """It listens on loopback, whichever address the brokers have: it is for the developer."""
        super().__init__()
        self._port = port
        self._registry_url = registry_url

    def start(self, bootstrap: str, client_file: Path | None) -> None:
        """People log in at a secured cluster as its users."""
        words = ["console", "--cluster", f"{DEFAULT_NAME}={bootstrap}", "--listen", f"127.0.0.1:{self._port}"]
        if self._registry_url is not None:
            words += ["--registry", self._registry_url]
        if client_file is not None:
            words += ["--command-config", str(client_file), "--login", "users"]
            words += ["--registry-logins"] if self._registry_url is not None else []
        self.run(words)
