"""The network between nodes on one machine, with cuts: a TCP proxy in front of every listener.

It needs no privileges and does not change the machine. Nodes use the addresses of the proxies
(``advertised.listeners``, ``controller.quorum.voters``). To find the node at the other end of a
connection, the proxy looks in ``/proc`` for the process that has the socket open. So a cut is
between *nodes*, in both directions or one, no matter which node opened the connection; any other
process is :data:`CLIENTS`.

A cut link is silent, like a broken network: no side gets a reset, connections stay open, and bytes
sent into it arrive after the link heals, as TCP would deliver them then. Stale requests after a
heal are half of the danger of partitions.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import Iterable
from contextlib import suppress

# The end of a link that is not a node of the cluster.
CLIENTS = 0
_CHUNK_BYTES = 1 << 18
# A connection is in its owner's table before the proxy accepts it, so one look is enough; the
# others are for a machine under load.
_LOOKS_MAX = 3
# Turns of the loop from the kernel's queue to the proxy's own code.
_TURNS_OF_A_NEWCOMER = 5


class Links:
    """All proxies of one cluster, in their own thread."""

    def __init__(self) -> None:
        self._pids: dict[int, int] = {}
        self._cut: set[tuple[int, int]] = set()
        self._loop = asyncio.new_event_loop()
        self._mended = asyncio.Condition()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._loop.run_forever, name="links", daemon=True)
        self._thread.start()

    def knows(self, node: int, pid: int) -> None:
        """``pid`` is the process of this node from now on."""
        self._pids[pid] = node

    def lead_to(self, node: int, *, port: int, target_port: int) -> None:
        """Forward connections to ``port`` to ``target_port``, a listener of ``node``."""
        asyncio.run_coroutine_threadsafe(self._listen(node, port, target_port), self._loop).result(10)

    def cut(self, sources: Iterable[int], targets: Iterable[int]) -> None:
        """Stop all bytes from any source to any target; the other direction stays as it is."""
        self._change(self._cut | {(source, target) for source in sources for target in targets if source != target})

    def heal(self) -> None:
        self._change(set())

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -- in the loop -------------------------------------------------------------------------------

    def _change(self, cut: set[tuple[int, int]]) -> None:
        async def change() -> None:
            async with self._mended:
                self._cut = cut
                self._mended.notify_all()

        asyncio.run_coroutine_threadsafe(change(), self._loop).result(10)

    async def _listen(self, node: int, port: int, target_port: int) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                if not self._closed:
                    await self._connect(node, target_port, reader, writer)
            except (OSError, asyncio.CancelledError):
                # The peer closed the connection, or the cluster is closed; asyncio would print the
                # latter.
                pass
            finally:
                self._tasks.discard(task)
                writer.close()

        self._servers.append(await asyncio.start_server(accept, "127.0.0.1", port, limit=_CHUNK_BYTES))

    async def _connect(self, node: int, target_port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        source = await self._who(writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1])
        await self._passable(source, node)
        upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", target_port, limit=_CHUNK_BYTES)
        pumps = [
            asyncio.create_task(self._pump(source, node, reader, upstream_writer)),
            asyncio.create_task(self._pump(node, source, upstream_reader, writer)),
        ]
        try:
            # A connection ends when either side closes it; Kafka's protocol does not half-close.
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            for each in pumps:
                each.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            upstream_writer.close()

    async def _pump(self, source: int, target: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(_CHUNK_BYTES):
            if self._cut:
                await self._passable(source, target)
            writer.write(data)
            await writer.drain()
        await self._passable(source, target)

    async def _passable(self, source: int, target: int) -> None:
        async with self._mended:
            await self._mended.wait_for(lambda: (source, target) not in self._cut)

    async def _close(self) -> None:
        self._closed = True
        for server in self._servers:
            server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # A connection that was accepted last begins only now, and closes itself.
        for _ in range(_TURNS_OF_A_NEWCOMER):
            await asyncio.sleep(0)

    async def _who(self, port: int, proxy_port: int) -> int:
        """The node whose process has the socket from ``port`` to ``proxy_port``."""
        for _ in range(_LOOKS_MAX):
            inode = _inode(port, proxy_port)
            if inode is not None:
                return next((node for pid, node in list(self._pids.items()) if _has_open(pid, inode)), CLIENTS)
            await asyncio.sleep(0)
        return CLIENTS


def _inode(local_port: int, remote_port: int) -> str | None:
    # A line has its number, both addresses, the state, two queues, the timer, the retries, the
    # user, the timeout and the inode. One search is cheaper than to take thousands of lines apart.
    ports = re.compile(rf" [0-9A-F]+:{local_port:04X} [0-9A-F]+:{remote_port:04X} \S+ \S+ \S+ \S+ +\d+ +\d+ (\d+)")
    # A JVM's IPv4 sockets are in the kernel's IPv6 table.
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            found = ports.search(lines.read())
        if found is not None:
            return found[1]
    return None


def _has_open(pid: int, inode: str) -> bool:
    wanted = f"socket:[{inode}]"
    with suppress(FileNotFoundError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(FileNotFoundError):
                if os.readlink(f"/proc/{pid}/fd/{name}") == wanted:
                    return True
    return False
