"""One worker as a program of its own, so that the test outlives a client library that aborts.

    python -m tests.cluster.worker_program ASSIGNMENT

ASSIGNMENT is JSON: the worker's class, the arguments of its constructor, and the number of the
process. The program reports on stdout (:mod:`tests.cluster.worker_report`), works until its stdin
ends, and then delivers everything that it has sent. SIGUSR1 prints the stacks of its threads.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
from pkgutil import resolve_name

from tests.cluster.history import Key
from tests.cluster.worker_report import ReportWriter
from tests.cluster.workers import Worker


def main() -> None:
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    assignment = json.loads(sys.argv[1])
    kind: type[Worker] = resolve_name(assignment["kind"])
    keys = [Key(topic, partition) for topic, partition in assignment["keys"]]
    report = ReportWriter(sys.stdout.buffer, assignment["number"])
    worker = kind(assignment["name"], assignment["settings"], report, keys, assignment["seed"])

    def stop_at_end_of_input() -> None:
        sys.stdin.buffer.read()
        worker.stop()

    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
    worker.run()
    if worker.failure is not None:
        traceback.print_exception(worker.failure)
    sys.stderr.flush()
    # A consumer that could not leave its group still closes in a thread. Do not wait for it.
    os._exit(1 if worker.failure is not None else 0)


if __name__ == "__main__":
    main()
