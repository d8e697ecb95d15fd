"""How files and connections share the file descriptors of this process.

A file can be closed and opened again when it is needed; a connection cannot. So connections take
descriptors as they arrive, and files use the rest. Neither can starve the other:

    limit of the process  =  OTHERS    +  connections  +  files
                             constant     0 to a cap      the rest, at least files_min

- Files always have :attr:`Descriptors.files_min`: a log that cannot open a file takes its directory
  offline.
- Clients stop :attr:`Descriptors.kept_for_nodes` short of the connections' cap. Listeners that only
  nodes of the cluster use may go on to the cap: many clients must not keep a controller from its
  voters.
- Connections that this node opens itself, and second descriptors of connections, are counted and
  never refused: there are few of them.

One object serves the whole process, because the limit is the process's: two embedded brokers share
it. Its methods may be called from any thread.
"""

from __future__ import annotations

import errno
import resource
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import ParamSpec, TypeVar

# Standard streams, the event loop, listening sockets, lock files, the metrics page, pipes to the
# cleaner, connections to an object store, directories while they are listed or synced. A started
# broker has about 20 of them.
OTHERS = 64
# The share of descriptors that only files may use. With a limit of 1,024 that is 120 files, which
# is enough to work with: each append, read or sync needs one for as long as it takes.
FILES_PART = 8
FILES_MIN = 64
# In a cluster of dozens of nodes, each node has a handful of connections from each of the others.
KEPT_FOR_NODES_MAX = 256
KEPT_FOR_NODES_PART = 16
# Even under an absurdly low limit some connections are accepted; opening files then fails with the
# reason.
CONNECTIONS_MIN = 16
# A limit of "unlimited" still has a bound in the kernel: Linux's default `fs.nr_open`, then macOS's
# OPEN_MAX.
UNLIMITED_STANDS_FOR = (1 << 20, 10_240)

# Other threads may take a descriptor that was just freed. After this many attempts, another part of
# the process must hold them all.
RETRIES_MAX = 3
NONE_LEFT = (errno.EMFILE, errno.ENFILE)

P = ParamSpec("P")
T = TypeVar("T")


class Descriptors:
    def __init__(self, limit: int) -> None:
        self._lock = Lock()
        self._follow_files_max: Callable[[int], None] = lambda _: None
        self._make_room: Callable[[], bool] = lambda: False
        self.connections = 0
        self._resize(limit)

    def _resize(self, limit: int) -> None:
        self.limit = limit
        shared = max(0, limit - OTHERS)
        self.files_min = max(FILES_MIN, shared // FILES_PART)
        self.connections_max = max(CONNECTIONS_MIN, shared - self.files_min)
        self.kept_for_nodes = min(KEPT_FOR_NODES_MAX, self.connections_max // KEPT_FOR_NODES_PART)

    @property
    def files_max(self) -> int:
        """How many files may be open now."""
        return max(self.files_min, self.limit - OTHERS - self.connections)

    def attend(self, follow_files_max: Callable[[int], None], make_room: Callable[[], bool]) -> None:
        """For the cache of open files: ``follow_files_max`` is called whenever that number changes;
        ``make_room`` closes some files and returns whether it closed any.
        """
        self._follow_files_max = follow_files_max
        self._make_room = make_room
        follow_files_max(self.files_max)

    def call(self, opens: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that opens a descriptor. If the process or the machine has none left,
        close some files and call it again.
        """
        for _ in range(RETRIES_MAX):
            try:
                return opens(*args, **kwargs)
            except OSError as error:
                if error.errno not in NONE_LEFT or not self._make_room():
                    raise
        return opens(*args, **kwargs)

    def raise_limit(self) -> None:
        """Raise this process's soft limit to its hard one, as the Java runtime does for Kafka."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        for wanted in UNLIMITED_STANDS_FOR if hard == resource.RLIM_INFINITY else (hard,):
            if soft == resource.RLIM_INFINITY or soft < wanted:
                with suppress(OSError, ValueError):
                    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
                    break
        limit = _soft_limit()
        if limit != self.limit:
            self._resize(limit)
            self._follow_files_max(self.files_max)

    def take(self, *, for_node: bool) -> bool:
        """Count a connection that was accepted; returns False, without counting, when there are too
        many.
        """
        with self._lock:
            if self.connections >= self.connections_max - (0 if for_node else self.kept_for_nodes):
                return False
            self.connections += 1
        self._follow_files_max(self.files_max)
        return True

    def add(self) -> None:
        """Count a network descriptor that exists in any case."""
        with self._lock:
            self.connections += 1
        self._follow_files_max(self.files_max)

    def give_back(self) -> None:
        with self._lock:
            self.connections -= 1
            assert self.connections >= 0, "a connection's descriptor was given back twice"
        self._follow_files_max(self.files_max)

    @property
    def scarce(self) -> bool:
        """Whether the network has used up half of its share, so that descriptors held only for
        convenience should be returned.
        """
        return self.connections > self.connections_max // 2


def _soft_limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return UNLIMITED_STANDS_FOR[0] if soft == resource.RLIM_INFINITY else soft


descriptors = Descriptors(_soft_limit())
