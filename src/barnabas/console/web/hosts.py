"""Which names a console on loopback may be called by.

A page of another site can make its own name resolve to 127.0.0.1, and would then read and change
everything as if it were the console. Browsers send the name in the header Host, so only known names
are answered.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.console.settings import is_loopback


def is_known_host(host_header: str, *, listens_on: str, public_hosts: Sequence[str]) -> bool:
    """A console on another address has a login, whose cookie a foreign name does not get."""
    if not is_loopback(listens_on):
        return True
    host = host_header.strip().lower()
    name = host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]
    return is_loopback(name) or name in public_hosts or host in public_hosts


def is_same_site(fetch_site: str | None, origin: str | None, host_header: str) -> bool:
    """Whether a change comes from a page of the console, by the headers that browsers send. A
    program sends neither."""
    if fetch_site is not None and fetch_site not in ("same-origin", "none"):
        return False
    return origin is None or origin.partition("://")[2].lower() == host_header.lower()
