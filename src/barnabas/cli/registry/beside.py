"""A registry beside a development cluster."""

from __future__ import annotations

from pathlib import Path

from barnabas.cli.beside import ProgramBeside


class RegistryBeside(ProgramBeside):
    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._host = host
        self._port = port

    @property
    def url(self) -> str:
        """The port is not 0, so that it is known before the registry runs."""
        return f"http://{self._host}:{self._port}"

    def start(self, bootstrap: str, client_file: Path | None) -> None:
        """``client_file`` has the properties of a secured cluster, whose users then log in at the
        registry, too."""
        words = ["registry", "-b", bootstrap, "--host", self._host, "--port", str(self._port)]
        if client_file is not None:
            words += ["--command-config", str(client_file), "--logins", "--super-user", "User:admin"]
        self.run(words)
