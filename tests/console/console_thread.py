"""A console on a free port, in a thread of the test's process, and a client that speaks with it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import httpx

from barnabas.console.process import console_server, listen
from barnabas.console.services import Services
from barnabas.console.settings import ClusterSettings, ConsoleSettings, check
from barnabas.telemetry.logs import EventLog
from tests.waiting import until

# No answer of the console takes that long, also on a starved machine.
SECONDS_MAX = 60.0


class ConsoleThread:
    def __init__(self, settings: ConsoleSettings) -> None:
        check(settings)
        self._socket = listen(settings.host, 0)
        self.settings = replace(settings, port=self._socket.getsockname()[1])
        self.services = Services(self.settings, EventLog("FATAL"))
        self._server = console_server(self.services)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._clients: list[ConsoleClient] = []
        self.url = f"http://{settings.host}:{self.settings.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        until(lambda: self._server.started, "the console answers")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in self._clients:
            each.http.close()
        self._server.should_exit = True
        self._thread.join(SECONDS_MAX)
        self.services.close()
        self._socket.close()

    def client(self) -> ConsoleClient:
        """A client that is closed with the console."""
        self._clients.append(ConsoleClient(self.url))
        return self._clients[-1]

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))


class ConsoleClient:
    """As a script would use the API: a cookie, and the token of the session for changes."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=SECONDS_MAX)
        self.token = self.http.get("/api/session").json()["csrf_token"]

    def get(self, path: str, **query: Any) -> Any:
        answer = self.http.get(f"/api{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, **values: Any) -> Any:
        answer = self.try_post(path, **values)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def try_post(self, path: str, **values: Any) -> httpx.Response:
        return self.http.post(f"/api{path}", json=values, headers={"X-CSRF-Token": self.token})

    def page(self, path: str, **query: Any) -> str:
        answer = self.http.get(path, params=query, follow_redirects=True)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/html")
        return answer.text

    def log_in(self, cluster: str, user: str, password: str) -> httpx.Response:
        answer = self.try_post("/login", cluster=cluster, user=user, password=password)
        if answer.status_code == 200:
            self.token = self.http.get("/api/session").json()["csrf_token"]
        return answer


def console_of(*clusters: ClusterSettings, **settings: Any) -> ConsoleThread:
    return ConsoleThread(ConsoleSettings(clusters, **settings))
