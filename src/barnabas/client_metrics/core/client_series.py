"""The series of the metrics page: the newest value of each metric of each client instance.

Clients push deltas, because brokers ask for them as Kafka does; counters here are their sums since
the instance's first push to this broker. A series that is not pushed again disappears after three
intervals, but not before a minute (:func:`~.client_instances.silent_ms_max`), so that the last
values of a client that ends are still scraped.

Two limits keep the page readable, whatever clients push. A series that does not fit is dropped and
counted, and the series that are there stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from math import isfinite

from barnabas.client_metrics.core.client_labels import CLIENT_ID, CLIENT_INSTANCE_ID, ClientLabels, label_text
from barnabas.client_metrics.core.otlp_reader import Opened, Point
from barnabas.client_metrics.core.prometheus_names import family_name, label_name
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid, uuid_text

# All series of a page: about three megabytes to scrape.
SERIES_MAX = 20_000
# One client that pushes the metrics of very many topics must not take the whole page.
SERIES_OF_INSTANCE_MAX = 5_000
INSTANCES_SHOWN_MAX = 5_000

OWN_LABELS = (CLIENT_ID, CLIENT_INSTANCE_ID)
# The attributes that Kafka's clients give to themselves.
RESOURCE_LABELS = ("client_rack", "group_id", "group_instance_id", "group_member_id", "transactional_id")

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Value:
    value: float
    expires_ms: int


@dataclass(slots=True)
class _Shown:
    """What the page has of one instance. The key of a value is family, whether it counts, and
    labels."""

    labels: ClientLabels
    resource: dict[str, str]
    expires_ms: int
    values: dict[tuple[str, bool, Labels], _Value] = field(default_factory=dict)


class ClientSeries:
    def __init__(self, *, series_max: int = SERIES_MAX, of_instance_max: int = SERIES_OF_INSTANCE_MAX) -> None:
        self._series_max = series_max
        self._of_instance_max = of_instance_max
        self._shown: dict[Uuid, _Shown] = {}
        self.count = 0

    def accept(self, labels: ClientLabels, opened: Opened, *, expires_ms: int) -> int:
        """Returns how many series do not fit."""
        shown = self._shown.get(labels.instance_id)
        if shown is None:
            if len(self._shown) >= INSTANCES_SHOWN_MAX:
                return len(opened.points)
            shown = self._shown[labels.instance_id] = _Shown(labels, {}, expires_ms)
        shown.resource = {name: label_text(opened.resource[name]) for name in RESOURCE_LABELS if name in opened.resource}
        shown.expires_ms = expires_ms
        return sum(not self._put(shown, point, expires_ms) for point in opened.points)

    def _put(self, shown: _Shown, point: Point, expires_ms: int) -> bool:
        key = (family_name(point.name, counts=point.counts), point.counts, _labels_of(point))
        known = shown.values.get(key)
        if known is not None:
            if not point.delta:
                known.value = point.value
            elif isfinite(point.value):
                # One infinite delta would stay in the sum for ever.
                known.value += point.value
            known.expires_ms = expires_ms
            return True
        if self.count >= self._series_max or len(shown.values) >= self._of_instance_max:
            return False
        shown.values[key] = _Value(point.value if isfinite(point.value) or not point.delta else 0.0, expires_ms)
        self.count += 1
        return True

    def expire(self, now_ms: int) -> None:
        for instance_id, shown in list(self._shown.items()):
            for key in [key for key, value in shown.values.items() if value.expires_ms <= now_ms]:
                del shown.values[key]
                self.count -= 1
            if shown.expires_ms <= now_ms:
                assert not shown.values, "a series expires no later than its instance"
                del self._shown[instance_id]

    def series(self) -> Iterator[tuple[str, bool, Labels, float]]:
        """Family, whether it counts, labels, value. Another thread may call it."""
        for shown in list(self._shown.values()):
            own = ((CLIENT_ID, shown.labels.client_id), (CLIENT_INSTANCE_ID, uuid_text(shown.labels.instance_id)))
            for (family, counts, labels), value in list(shown.values.items()):
                yield family, counts, own + labels, value.value

    def clients(self) -> Iterable[tuple[ClientLabels, dict[str, str]]]:
        """The instances, and the attributes that they gave to themselves."""
        return [(shown.labels, shown.resource) for shown in list(self._shown.values())]


def _labels_of(point: Point) -> Labels:
    """Later attributes replace earlier ones of the same name, and none replaces a label of the
    broker."""
    found = {label_name(key): value for key, value in point.attributes}
    return tuple(sorted((key, value) for key, value in found.items() if key not in OWN_LABELS))
