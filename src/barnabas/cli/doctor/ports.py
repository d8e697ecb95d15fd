"""Ports that a node needs: free, or the process that listens there."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

from barnabas.cli.doctor.finding import Finding, ok, problem, warning

_LISTENING = "0A"  # in /proc/net/tcp
_PRIVILEGED_BELOW = 1024


def port(host: str, number: int, purpose: str) -> Iterable[Finding]:
    name = f"port {number}"
    if number == 0:
        yield ok(name, f"{purpose}: the system chooses a free port.")
        return
    try:
        family, _, _, _, address = socket.getaddrinfo(host or None, number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        yield problem(name, f"{purpose}: {host} is not known here ({error.strerror}).", "Listen on an address of this machine.")
        return
    try:
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        yield _refusal(name, host, number, purpose, error)
    else:
        yield ok(name, f"{purpose}: free.")


def _refusal(name: str, host: str, number: int, purpose: str, error: OSError) -> Finding:
    if error.errno == errno.EADDRINUSE:
        listener = next(iter(listeners(number)), None)
        who = listener or "another process, which this user may not see,"
        advice = "Stop it, or choose another port. A node that runs already with this configuration is no problem."
        return warning(name, f"{purpose}: {who} listens there.", advice)
    if error.errno == errno.EADDRNOTAVAIL:
        return problem(name, f"{purpose}: {host} is not an address of this machine.", "Listen on 0.0.0.0 and advertise the other address.")
    if error.errno == errno.EACCES and number < _PRIVILEGED_BELOW:
        return problem(name, f"{purpose}: this user may not use ports below {_PRIVILEGED_BELOW}.", "Choose a higher port.")
    return problem(name, f"{purpose}: {error.strerror}.", "Choose another address.")


def listeners(number: int) -> Iterator[str]:
    """The processes that listen on a port, as far as this user may see them."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(number)}
    for process in Path("/proc").glob("[0-9]*") if sockets else ():
        try:
            found = any(os.readlink(each) in sockets for each in (process / "fd").iterdir())
        except OSError:
            continue  # of another user, or gone
        if found:
            command = _text(process / "cmdline").replace("\0", " ").strip() or _text(process / "comm").strip()
            yield f"process {process.name} ({command[:80]})"


def _inodes(number: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        for line in _text(Path("/proc/net") / table).splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == number:
                yield fields[9]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
