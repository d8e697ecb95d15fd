"""Ports for nodes that are started again and again."""

from __future__ import annotations

import random
import socket

# Below the range from which the system chooses ports, for outgoing connections and for sockets
# bound to port 0: a node that was stopped or killed must find its port free when it comes back.
_PORTS = range(12_000, 30_000)


def free_port() -> int:
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Different ports without a listener."""
    held: list[socket.socket] = []
    candidates = list(_PORTS)
    random.SystemRandom().shuffle(candidates)
    try:
        for port in candidates:
            probe = socket.socket()
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.close()
                continue
            held.append(probe)
            if len(held) == count:
                return [each.getsockname()[1] for each in held]
        raise AssertionError(f"there are no {count} free ports")
    finally:
        for probe in held:
            probe.close()


def free_range(count: int) -> range:
    """Ports in a row without a listener."""
    starts = list(range(_PORTS.start, _PORTS.stop - count))
    random.SystemRandom().shuffle(starts)
    for start in starts:
        found = range(start, start + count)
        if all(map(_is_free, found)):
            return found
    raise AssertionError(f"there are no {count} free ports in a row")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
