"""The series of clients, as families of the metrics page. The thread of the page calls it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.client_series import RESOURCE_LABELS, Labels
from barnabas.telemetry.catalogue import CLIENT_INFO
from barnabas.telemetry.metrics import Family, Kind, Reading

_DOC = "Pushed by clients."


def families_of(series: Iterable[tuple[str, bool, Labels, float]]) -> Iterator[Family]:
    """A page has each family once, and each set of labels once in it. A gauge whose family is also
    a counter of another client is shown with ``_value`` behind its name."""
    found: dict[bool, dict[str, dict[Labels, float]]] = {True: {}, False: {}}
    for name, counts, labels, value in series:
        found[counts].setdefault(name, {})[labels] = value
    counters, gauges = found[True], found[False]
    for name in counters.keys() & gauges.keys():
        gauges.setdefault(f"{name}_value", {}).update(gauges.pop(name))
    for kind, families in ((Kind.COUNTER, counters), (Kind.GAUGE, gauges)):
        for name, samples in sorted(families.items()):
            yield Family(name, kind, _DOC, [(dict(labels), value) for labels, value in samples.items()])


def client_infos(clients: Iterable[tuple[ClientLabels, dict[str, str]]]) -> list[Reading]:
    infos: list[Reading] = []
    for labels, resource in clients:
        values = {**labels.by_name(), "principal": labels.principal, **{name: resource.get(name, "") for name in RESOURCE_LABELS}}
        infos.append((tuple(values[name] for name in CLIENT_INFO.labels), 1.0))
    return infos
