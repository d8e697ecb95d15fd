"""How much must have arrived before the kernel wakes the loop for one connection.

A client may send a large request in many small writes. librdkafka does so under TLS: about 400
writes and as many TLS records for a megabyte, many of them with ten bytes. A loop that is idle
would wake for each of them, which costs it more than decrypting them and costs the client an
interrupt of another processor. While much of a request is missing, waking for less than
:data:`MARK_BYTES` gains nothing, because the request cannot be served yet. The kernel has an option
for this, ``SO_RCVLOWAT``. It still wakes the loop at the end of the stream, at a reset, and when
its buffer cannot hold that much.

Invariant: the mark is raised only while more than the mark is certain to come before the request is
complete. So a complete request never waits in the kernel.
"""

from __future__ import annotations

import socket

# A wake-up costs little compared with copying and decrypting this much, and the kernel's buffer has
# room for more while the loop works on it.
MARK_BYTES = 64 * 1024
# The transport may hold one incomplete TLS record, whose bytes have left the kernel and are not
# counted as received yet: 16 KB, and at most 2 KB for the cipher.
_HELD_BY_TLS_BYTES_MAX = 20 * 1024
_RAISE_BYTES_MIN = MARK_BYTES + _HELD_BY_TLS_BYTES_MAX


class ReceiveMark:
    __slots__ = ("_socket", "raised")

    def __init__(self, accepted: socket.socket) -> None:
        self._socket = accepted
        self.raised = False

    def adjust(self, missing_bytes: int) -> None:
        """Call after each read, with the bytes that the request under way still lacks; 0 without
        one."""
        raised = missing_bytes >= _RAISE_BYTES_MIN
        if raised is not self.raised:
            self.raised = raised
            try:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, MARK_BYTES if raised else 1)
            except OSError:
                # The transport has closed the socket, and the end of the connection follows.
                self.raised = False
