"""The registry seen from outside: health, metrics and a description of its API. None of these needs
a login, and none names a subject.
"""

from __future__ import annotations

import json
from typing import Any, Final

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import Response

from barnabas import __version__
from barnabas.registry.core.state import RegistryState
from barnabas.registry.routes import ROUTES, Route

# From a lookup in memory to a registration through a busy cluster.
_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Observation:
    def __init__(self, state: RegistryState) -> None:
        self._state = state
        self._registry = CollectorRegistry()
        labels = ("method", "path")
        self._requests = Counter(
            "barnabas_registry_requests", "Requests by method, path and status.", (*labels, "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "barnabas_registry_request_seconds", "Time to answer a request.", labels, registry=self._registry, buckets=_BUCKETS
        )
        self._subjects = Gauge("barnabas_registry_subjects", "Subjects that are not deleted.", registry=self._registry)
        self._versions = Gauge("barnabas_registry_versions", "Versions that are not deleted.", registry=self._registry)
        self._leads = Gauge("barnabas_registry_leader", "1 if this instance is the leader.", registry=self._registry)

    def answered(self, route: Route | None, method: str, status: int, seconds: float) -> None:
        """The path is that of the route: paths of callers would make a series each."""
        path = route.template if route is not None else "other"
        self._requests.labels(method if route is not None else "other", path, str(status)).inc()
        self._seconds.labels(method if route is not None else "other", path).observe(seconds)

    def metrics(self, *, is_leader: bool) -> Response:
        self._subjects.set(len(self._state.subjects()))
        self._versions.set(sum(not entry.deleted for entry in self._state.all_versions()))
        self._leads.set(is_leader)
        return Response(generate_latest(self._registry), media_type=CONTENT_TYPE_LATEST)


def health(*, is_leader: bool, leader: str | None, failure: str | None) -> Response:
    """Healthy is an instance that can answer every request: it leads or knows the leader, and it
    can read the topic."""
    healthy = failure is None and (is_leader or leader is not None)
    body = {"status": "healthy" if healthy else "unhealthy", "leader": is_leader, "leader_url": leader, "failure": failure}
    return Response(json.dumps(body), 200 if healthy else 503, media_type="application/json")


def api_description() -> dict[str, Any]:
    """The API in OpenAPI's format, made from the routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        parameters = [
            {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
            for part in route.path
            if part.startswith("{")
        ]
        paths.setdefault(route.template, {})[route.method.lower()] = {
            "operationId": f"{route.method.lower()}_{route.endpoint.__name__}",
            "summary": route.endpoint.__name__.replace("_", " ").capitalize() + ".",
            "parameters": parameters,
            "responses": {"200": {"description": "The answer."}, "default": {"description": "An error_code and a message."}},
        }
    return {"openapi": "3.1.0", "info": {"title": "Barnabas schema registry", "version": __version__}, "paths": paths}
