"""A collector of OpenTelemetry on a free port, as far as senders of metrics see one."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.otlp import read


class Collector:
    """``statuses`` are those of the next answers; then all are 200."""

    def __init__(self, scheme: str, port: int) -> None:
        self.url = f"{scheme}://127.0.0.1:{port}/v1/metrics"
        self.statuses: list[int] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []

    @property
    def bodies(self) -> list[bytes]:
        return [body for _, _, body in self.requests]

    def resources(self) -> list[tuple[dict[str, str], dict[str, float]]]:
        """Attributes and metrics of every resource that arrived."""
        found = []
        for body in self.bodies:
            for each in read(body).resource_metrics:
                attributes = {item.key: item.value.string_value for item in each.resource.attributes}
                metrics = {metric.name: value_of(metric) for scope in each.scope_metrics for metric in scope.metrics}
                found.append((attributes, metrics))
        return found


def value_of(metric: Any) -> float:
    point = (metric.gauge if metric.HasField("gauge") else metric.sum).data_points[0]
    return float(point.as_int if point.HasField("as_int") else point.as_double)


@contextmanager
def collector(port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Collector]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            running.requests.append((self.path, dict(self.headers.items()), body))
            self.send_response(running.statuses.pop(0) if running.statuses else 200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        running = Collector("http" if tls is None else "https", server.server_address[1])
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            server.shutdown()
            thread.join()
