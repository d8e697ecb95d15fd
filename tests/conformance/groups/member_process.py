"""A member in a process of its own, which can be killed: ``python -m ... CLIENT BOOTSTRAP GROUP
TOPIC SETTINGS``.

It writes its partitions to stdout, a line for each change. It runs until it is killed, or its stdin
ends.
"""

from __future__ import annotations

import json
import sys
import threading
from functools import partial

from tests.conformance.groups.members import ALL_MEMBERS
from tests.waiting import until


def main(client: str, bootstrap: str, group: str, topic: str, settings: str) -> None:
    (kind,) = (each for each in ALL_MEMBERS if each.client == client)
    member = kind(bootstrap, group, [topic], **json.loads(settings))
    ended = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    told: set[int] | None = None

    def changed(before: set[int] | None) -> bool:
        return ended.is_set() or member.failure is not None or member.partitions != before

    while not ended.is_set() and member.failure is None:
        until(partial(changed, told), "the partitions change", seconds_max=float("inf"))
        told = member.partitions
        print(json.dumps(sorted(told)), flush=True)
    member.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
