"""Whether a machine says that no process listens at an address.

When a process ends, its kernel closes its sockets, and from then on refuses connections to its
port. A machine without power, a network that is cut, a process that is stopped and one whose queue
of connections is full do not refuse: they are silent, or the connection is made. So a refusal is
evidence that a process is gone, and its absence is evidence of nothing.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from typing import Any

from barnabas.env.descriptors import descriptors

# A machine that is up refuses within a round trip.
REFUSAL_SECONDS_MAX = 1.0

_NO_SUCH_ADDRESSES = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETUNREACH})


async def refuses_connections(host: str, port: int) -> bool:
    """Whether every address of ``host`` refuses. A name that cannot be resolved refuses nothing."""
    try:
        async with asyncio.timeout(REFUSAL_SECONDS_MAX):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answers = [await _refuses(family, address) for family, _, _, _, address in found]
    # The address is unchecked: it came from a registration, and a resolver may refuse it.
    except (OSError, ValueError, OverflowError):
        return False
    return True in answers and False not in answers


async def _refuses(family: socket.AddressFamily, address: Any) -> bool | None:
    """None for an address of a kind that this machine does not have or cannot reach, such as one
    of IPv6."""
    try:
        with descriptors.call(socket.socket, family, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            await asyncio.get_running_loop().sock_connect(probe, address)
    except ConnectionRefusedError:
        return True
    except OSError as error:
        # Linux rejects the whole of IPv6 with EHOSTUNREACH where it has an address but no route.
        if error.errno in _NO_SUCH_ADDRESSES or (family == socket.AF_INET6 and error.errno == errno.EHOSTUNREACH):
            return None
        raise
    return False
