"""The health check of the image: exit code 0 when the node answers ``/ready`` with 200.

It asks ``/ready`` and not ``/health``, because Compose starts dependent services when a container
is healthy, and Docker restarts no container that is unhealthy. The image has no curl, so this is
Python with nothing but the standard library.
"""

from __future__ import annotations

import os
import sys
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

TIMEOUT_SECONDS = 4
PATH = "/ready"
ALL_ADDRESSES = ("", "0.0.0.0", "[::]")  # noqa: S104


def main() -> int:
    listener = os.environ.get("KAFKA_BARNABAS_PROMETHEUS_LISTENER", "")
    host, _, port = listener.rpartition(":")
    if not port.isdigit():
        print(f"KAFKA_BARNABAS_PROMETHEUS_LISTENER must be host:port for the health check, but is {listener!r}.")
        return 1
    # A node that listens on all addresses is reached on the loopback; a proxy of the environment is
    # not meant for it.
    address = "127.0.0.1" if host in ALL_ADDRESSES else host
    try:
        with build_opener(ProxyHandler({})).open(f"http://{address}:{port}{PATH}", timeout=TIMEOUT_SECONDS) as answer:
            return 0 if answer.status == 200 else 1
    except (URLError, OSError) as error:
        print(f"{PATH}: {error}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
