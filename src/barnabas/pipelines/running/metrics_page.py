"""The HTTP page with the metrics of pipelines, for Prometheus to scrape. Off unless a file or the
command names a port; on loopback unless they name another address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from barnabas.pipelines.declaration.pipeline_declaration import MetricsAddress
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.running.metrics import PipelineMetrics

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.running.runner import Run


class ServedMetrics:
    """The metrics of a run on all of its pages."""

    def __init__(self) -> None:
        self.observers: list[PipelineMetrics] = []
        self.urls: list[str] = []

    def running(self, run: Run) -> None:
        """All queries have started."""
        run.on_restart.extend(each.restarted for each in self.observers)
        for each in self.observers:
            each.running(True)

    def stopped(self) -> None:
        for each in self.observers:
            each.running(False)


@contextmanager
def served_metrics(pipelines: Sequence[PipelineDeclaration], address: MetricsAddress | None = None) -> Iterator[ServedMetrics]:
    """One page at ``address`` for all pipelines, in place of those that the files name. Pipelines
    with the same address share a page. Raises ``CannotRun`` when an address is taken."""
    by_address: dict[MetricsAddress, list[PipelineDeclaration]] = {}
    for pipeline in pipelines:
        wanted = pipeline.metrics if address is None else address
        if wanted is not None:
            by_address.setdefault(wanted, []).append(pipeline)
    served = ServedMetrics()
    with ExitStack() as at_end:
        for each, shown in by_address.items():
            metrics = PipelineMetrics(shown)
            served.observers.append(metrics)
            port = at_end.enter_context(_page(metrics, each))
            served.urls.append(f"http://{f'[{each.host}]' if ':' in each.host else each.host}:{port}/metrics")
        try:
            yield served
        finally:
            served.stopped()


@contextmanager
def _page(metrics: PipelineMetrics, address: MetricsAddress) -> Iterator[int]:
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    try:
        # The thread is a daemon: a scrape in progress does not hold up the end of the process.
        server, thread = start_http_server(address.port, addr=address.host, registry=registry)
    except OSError as error:
        where = f"{address.host}:{address.port}"
        raise CannotRun(f"The metrics cannot be served at {where}: {error.strerror or error}.") from error
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
