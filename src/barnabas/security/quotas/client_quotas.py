"""The quotas of all clients of a node: their limits, their use, and how long each client waits.

Four kinds of use are limited. Bytes produced and fetched, and the share of one processor that
requests take, are rates over some windows. Partitions created and deleted are paid for with tokens.

Use is recorded for the *entity* whose quota applies: all client ids of a user share the quota of
that user, and each user has its own share of the default quota. A client without a quota is not
recorded at all. The use stays on record when a quota changes, and is then compared with the new
value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from barnabas.security.quotas.mutation_quota import MutationQuota
from barnabas.security.quotas.quota_table import CLIENT_ID, USER, Entity, Limit, QuotaTable
from barnabas.security.quotas.sensors import Sensors
from barnabas.security.quotas.token_bucket import TokenBucket
from barnabas.security.quotas.windowed_rate import WindowedRate, Windows, delay_ms

PRODUCED: Final = "producer_byte_rate"
FETCHED: Final = "consumer_byte_rate"
REQUESTS: Final = "request_percentage"
MUTATIONS: Final = "controller_mutation_rate"

# Clients whose limits are remembered. When more have called, all are looked up again: eight
# dictionary lookups for each kind of quota.
CLIENTS_KNOWN_MAX = 10_000
NO_BYTES_LIMIT: Final = 2**31 - 1
_NS_PER_PERCENT = 10_000_000  # of one processor, for a second


class ClientLimits(NamedTuple):
    """The quotas that apply to one client; None where it has none."""

    produced: Limit | None
    fetched: Limit | None
    requests: Limit | None
    mutations: Limit | None


_UNLIMITED = ClientLimits(None, None, None, None)


class ThrottleTime:
    """The waits of an entity so far."""

    __slots__ = ("total_ms",)

    def __init__(self) -> None:
        self.total_ms = 0


class ClientQuotas:
    """Times are monotonic milliseconds."""

    def __init__(self, windows: Windows | None = None, mutation_windows: Windows | None = None) -> None:
        self.windows = windows or Windows()
        self._mutation_windows = mutation_windows or Windows()
        self._table = QuotaTable({})
        self._known: dict[tuple[str, str], ClientLimits | None] = {}
        # Whether any client may have a quota; while it is false, requests pay for nothing else.
        self.in_force = False
        self.rates: Mapping[str, Sensors[WindowedRate]] = {
            kind: Sensors(lambda: WindowedRate(self.windows)) for kind in (PRODUCED, FETCHED, REQUESTS)
        }
        self.buckets: Sensors[TokenBucket] = Sensors(lambda: TokenBucket(self._mutation_windows, 0.0))
        self.waits: Mapping[str, Sensors[ThrottleTime]] = {kind: Sensors(ThrottleTime) for kind in (PRODUCED, FETCHED, REQUESTS, MUTATIONS)}

    def replace(self, by_entity: Mapping[Entity, Mapping[str, float]]) -> None:
        """The quotas of a new image."""
        of_clients = {entity: values for entity, values in by_entity.items() if {kind for kind, _ in entity} <= {USER, CLIENT_ID}}
        self._table = QuotaTable(of_clients)
        self._known.clear()
        self.in_force = bool(of_clients)
        for kind, rates in self.rates.items():
            if not self._table.has(kind):
                # The next quota of this kind begins with no use on record.
                rates.clear()
        if not self._table.has(MUTATIONS):
            self.buckets.clear()

    def limits(self, user: str, client_id: str) -> ClientLimits | None:
        """None for a client without any quota."""
        if (user, client_id) in self._known:
            return self._known[user, client_id]
        limit = self._table.limit
        found: ClientLimits | None = ClientLimits(*(limit(kind, user, client_id) for kind in (PRODUCED, FETCHED, REQUESTS, MUTATIONS)))
        if found == _UNLIMITED:
            found = None
        if len(self._known) >= CLIENTS_KNOWN_MAX:
            self._known.clear()
        self._known[user, client_id] = found
        return found

    # -- recording: each returns how long the client must wait, in milliseconds -------------------

    def produced(self, limits: ClientLimits, size_bytes: int, now_ms: int) -> int:
        limit = limits.produced
        if limit is None:
            return 0
        rate = self._rate(PRODUCED, limit, now_ms)
        rate.record(size_bytes, now_ms)
        return delay_ms(rate, limit.value, now_ms)

    def fetched(self, limits: ClientLimits, size_bytes: int, now_ms: int, *, must_wait: bool) -> tuple[int, bool]:
        """The wait, and whether the response may carry its data now.

        A client over its quota gets an empty response, of which nothing is recorded; so does one
        that ``must_wait`` for another reason. A batch of more bytes than the quota allows in all
        windows together would then never pass. It passes when the client is within its quota, and
        the client waits afterwards. Kafka withholds such a batch for good.
        """
        limit = limits.fetched
        if limit is None:
            return 0, not must_wait
        rate = self._rate(FETCHED, limit, now_ms)
        never_fits = size_bytes * 1000 > limit.value * self.windows.span_ms
        passes_late = never_fits and not must_wait and delay_ms(rate, limit.value, now_ms) == 0
        rate.record(size_bytes, now_ms)
        wait_ms = delay_ms(rate, limit.value, now_ms)
        if passes_late or (wait_ms == 0 and not must_wait):
            return wait_ms, True
        rate.record(-size_bytes, now_ms)
        return wait_ms, False

    def delivered(self, limits: ClientLimits, size_bytes: int, now_ms: int) -> int:
        """The wait after data that cannot be withheld, because it is locked for this client."""
        limit = limits.fetched
        if limit is None:
            return 0
        rate = self._rate(FETCHED, limit, now_ms)
        rate.record(size_bytes, now_ms)
        return delay_ms(rate, limit.value, now_ms)

    def fetch_bytes_max(self, limits: ClientLimits) -> int:
        """More bytes than this would be over the quota even after a long pause."""
        limit = limits.fetched
        if limit is None:
            return NO_BYTES_LIMIT
        return int(min(NO_BYTES_LIMIT, limit.value * (self.windows.samples - 1) * self.windows.size_ms / 1000))

    def used(self, limits: ClientLimits, cpu_ns: int, now_ms: int) -> int:
        """The time of a processor that a request took. One request cannot make a client wait longer
        than one window."""
        limit = limits.requests
        if limit is None:
            return 0
        rate = self._rate(REQUESTS, limit, now_ms)
        rate.record(cpu_ns / _NS_PER_PERCENT, now_ms)
        return min(self.windows.size_ms, delay_ms(rate, limit.value, now_ms))

    def mutation_quota(self, user: str, client_id: str, *, strict: bool, now_ms: int) -> MutationQuota | None:
        """None for a client whose mutations are not limited."""
        limits = self.limits(user, client_id) if self.in_force else None
        if limits is None or limits.mutations is None:
            return None
        limit = limits.mutations
        bucket = self.buckets.of((limit.user, limit.client_id), now_ms)
        bucket.set_rate(limit.value)
        return MutationQuota(bucket, strict=strict, now_ms=now_ms)

    def waited(self, kind: str, limits: ClientLimits, wait_ms: int, now_ms: int) -> None:
        """Count a wait that was carried out, for metrics."""
        limit = {PRODUCED: limits.produced, FETCHED: limits.fetched, REQUESTS: limits.requests, MUTATIONS: limits.mutations}[kind]
        if limit is not None:
            self.waits[kind].of((limit.user, limit.client_id), now_ms).total_ms += wait_ms

    def _rate(self, kind: str, limit: Limit, now_ms: int) -> WindowedRate:
        return self.rates[kind].of((limit.user, limit.client_id), now_ms)
