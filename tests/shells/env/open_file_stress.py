"""Several threads use more files than the process may open, and each file must end with exactly its
own bytes.

    python -m tests.shells.env.open_file_stress DIRECTORY DESCRIPTORS SECONDS

lowers the process's limit to DESCRIPTORS for good, so it runs in a process of its own. The threads
work like those of a node: append on one and on several, sync on workers, read and send by
``sendfile``, create, rename and delete, and take descriptors for connections. It prints counts and
failures; the exit code is 1 after any failure.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from random import Random
from threading import Event, Thread

from barnabas.env.descriptors import descriptors
from barnabas.env.disk import FileReplaced
from barnabas.env.real_disk import RealDisk, RealFile, open_files

RECORD_BYTES = 16
# Preempt threads far more often than the interpreter does by default, so that they interleave
# inside calls.
SWITCH_SECONDS = 1e-5
FAILURES_SHOWN = 10


def record(name: str, index: int) -> bytes:
    return f"{name[-8:]:>8}{index:08d}".encode()


class Appended:
    """A file, and how many records it should hold. One thread appends; others read below
    ``count``.
    """

    def __init__(self, disk: RealDisk, directory: str, name: str) -> None:
        self.name = name
        self.file: RealFile = disk.open(f"{directory}/{name}")
        self.count = 0

    def append(self) -> None:
        self.file.write_at(self.count * RECORD_BYTES, record(self.name, self.count))
        self.count += 1

    def expected(self) -> bytes:
        return b"".join(record(self.name, index) for index in range(self.count))


class Stress:
    def __init__(self, directory: str) -> None:
        self.disk = RealDisk()
        self.directory = directory
        self.stop = Event()
        self.failures: list[str] = []
        self.done: Counter[str] = Counter()
        # Half as many again as may be open, for each of two appending threads.
        count = descriptors.files_max * 3 // 4
        self.files = [[Appended(self.disk, directory, f"{owner}{n:06d}") for n in range(count)] for owner in "ab"]

    def run(self, seconds: float) -> None:
        deeds: list[Callable[[Random], None]] = [
            lambda chance: self.append(chance, self.files[0]),
            lambda chance: self.append(chance, self.files[1]),
            self.read,
            self.send,
            self.sync,
            self.create,
            self.create,
            self.take_connections,
        ]
        threads = [Thread(target=self._repeat, args=(deed, Random(seed))) for seed, deed in enumerate(deeds)]
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        self.stop.set()
        for thread in threads:
            thread.join()
        for file in (*self.files[0], *self.files[1]):
            self.verify(file)

    def _repeat(self, deed: Callable[[Random], None], chance: Random) -> None:
        while not self.stop.is_set():
            try:
                deed(chance)
            except Exception:  # noqa: BLE001 (the outermost frame of a thread)
                self.failures.append(traceback.format_exc())
                return

    def _check(self, condition: bool, claim: str) -> None:
        if not condition:
            self.failures.append(claim)

    def append(self, chance: Random, files: list[Appended]) -> None:
        for _ in range(100):
            chance.choice(files).append()
        self.done["appends"] += 100

    def _any_file(self, chance: Random) -> Appended:
        return chance.choice(chance.choice(self.files))

    def read(self, chance: Random) -> None:
        file = self._any_file(chance)
        if count := file.count:
            index = chance.randrange(count)
            found = file.file.read_at(index * RECORD_BYTES, RECORD_BYTES)
            self._check(found == record(file.name, index), f"{file.name} reads as {found!r} at {index}")
        self.done["reads"] += 1

    def send(self, chance: Random) -> None:
        """As for a fetch: hold first, send later."""
        held = [(file, file.count, file.file.hold()) for file in (self._any_file(chance) for _ in range(8))]
        ours, theirs = socket.socketpair()
        with ours, theirs:
            for file, count, each in held:
                if count:
                    index = chance.randrange(count)
                    sent = os.sendfile(ours.fileno(), each.descriptor(), index * RECORD_BYTES, RECORD_BYTES)
                    found = theirs.recv(RECORD_BYTES) if sent else b""
                    self._check(found == record(file.name, index), f"{file.name} is sent as {found!r} at {index}")
        self.done["sendfiles"] += 1

    def sync(self, chance: Random) -> None:
        self._any_file(chance).file.sync()
        self.done["syncs"] += 1

    def create(self, chance: Random) -> None:
        """The whole life of a file, at the end of which another file takes its name."""
        new = Appended(self.disk, self.directory, f"n{chance.getrandbits(64):016x}")
        path = new.file.path
        for _ in range(3):
            new.append()
        if chance.random() < 0.5:
            new.file.close()
        self.disk.rename(path, path + ".moved")
        new.file.moved_to(path + ".moved")
        new.append()
        self.verify(new)
        usurper = Appended(self.disk, self.directory, f"u{chance.getrandbits(64):016x}")
        usurper.append()
        new.file.close()
        self.disk.rename(usurper.file.path, path + ".moved")
        usurper.file.moved_to(path + ".moved")
        try:
            new.append()
            self._check(False, f"{new.name} was written after another file had taken its name")
        except FileReplaced:
            pass
        self.verify(usurper)
        usurper.file.close()
        self.disk.remove(path + ".moved")
        self.done["files created"] += 2

    def take_connections(self, chance: Random) -> None:
        """Connections come and go: the limit for files moves, and real descriptors with it."""
        sockets: list[socket.socket] = []
        while len(sockets) < descriptors.connections_max // 2 and descriptors.take(for_node=False):
            sockets.append(socket.socket())
        time.sleep(chance.random() / 100)
        for each in sockets:
            each.close()
            descriptors.give_back()
        self.done["connections"] += len(sockets)

    def verify(self, file: Appended) -> None:
        with open(file.file.path, "rb") as found:
            self._check(found.read() == file.expected(), f"{file.name} does not hold exactly its own bytes")


def main(directory: str, limit: int, seconds: float) -> int:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    sys.setswitchinterval(SWITCH_SECONDS)
    stress = Stress(directory)
    stress.run(seconds)
    print(f"limit {limit}, {open_files().evictions} evictions, {dict(stress.done)}")
    for failure in stress.failures[:FAILURES_SHOWN]:
        print(failure)
    if not open_files().evictions:
        print("nothing was evicted: the stress has missed its point")
        return 1
    return 1 if stress.failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
