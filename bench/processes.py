"""``python -m bench.processes``: the cost of a request with 1, 2 and 4 processes on one machine.

Not a row of ``python -m bench``, because Apache Kafka has nothing to compare it with: this measures
``barnabas server --processes`` against itself. All servers run at the same time and are measured in
turn, so that other load on the machine hits each of them.

The load is the closed loop of the row *small requests*, once for each process, on a topic whose
partitions that process leads. The cost is the processor time, user and system, of all processes of
the server, the supervisor included, divided by the requests that were answered. It does not depend
on how many cores are free, as requests per second do; those are printed, too.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from bench import programs
from bench.topics import ADMIN_SECONDS_MAX
from bench.usage import cpu_seconds
from peers.apache_kafka import CLUSTER_ID, write_properties
from peers.ports import free_range

COUNTS = (1, 2, 4)
PARTITIONS = 6
STOP_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    processes: int
    pid: int  # of the supervisor
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Round:
    cpu_us: float  # for each request
    requests_per_s: float


@contextmanager
def serve(processes: int) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="processes-") as directory:
        port, controller, *_ = free_range(processes + 1)
        file = Path(directory) / "server.properties"
        write_properties(
            file,
            {
                "process.roles": "broker,controller",
                "node.id": "1",
                "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
                "controller.listener.names": "CONTROLLER",
                "controller.quorum.voters": f"1@127.0.0.1:{controller}",
                "log.dirs": f"{directory}/data",
            },
        )
        barnabas = [sys.executable, "-m", "barnabas"]
        subprocess.run(
            [*barnabas, "storage", "format", "--cluster-id", CLUSTER_ID, "--config", str(file)], check=True, stdout=subprocess.DEVNULL
        )
        words = [*barnabas, "server", "--log-level", "ERROR", "--config", str(file), "--processes", str(processes)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            ready = dict(word.split("=", 1) for word in server.stdout.readline().split()[1:])
            ports = tuple(int(each.rpartition(":")[2]) for each in ready["bootstrap"].split(","))
            _create_topics(ready["bootstrap"], processes)
            try:
                yield Server(processes, server.pid, ports)
            finally:
                server.terminate()
                server.wait(STOP_SECONDS_MAX)


def _create_topics(bootstrap: str, processes: int) -> None:
    """One for each process, which leads all its partitions."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [NewTopic(f"of-{node}", PARTITIONS, replica_assignment=[[node]] * PARTITIONS) for node in range(1, processes + 1)]
    for created in admin.create_topics(topics).values():
        created.result(ADMIN_SECONDS_MAX)


def measure(server: Server, *, connections: int, seconds: float) -> Round:
    """``connections`` to each process."""

    def load(node: int, port: int) -> float:
        seen = programs.closed_loop(port=port, topic=f"of-{node}", connections=connections, partitions=PARTITIONS, seconds=seconds)
        return seen["requests_per_s"]

    with ThreadPoolExecutor(server.processes) as clients:
        before = cpu_seconds(server.pid)
        rates = list(clients.map(load, range(1, server.processes + 1), server.ports))
        cost = cpu_seconds(server.pid) - before
    return Round(cost / (sum(rates) * seconds) * 1e6, sum(rates))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.processes", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, nargs="+", default=[4, 16, 64], help="to each process")
    arguments = parser.parse_args()
    with ExitStack() as servers:
        running = [servers.enter_context(serve(count)) for count in COUNTS]
        for connections in arguments.connections:
            rounds: dict[int, list[Round]] = {count: [] for count in COUNTS}
            for _ in range(arguments.rounds):
                for server in running:
                    rounds[server.processes].append(measure(server, connections=connections, seconds=arguments.seconds))
            for count, seen in rounds.items():
                costs = sorted(each.cpu_us for each in seen)
                rate = statistics.median(each.requests_per_s for each in seen)
                print(
                    f"{connections} connections to each of {count} processes: {statistics.median(costs):.1f} us of CPU a request"
                    f" ({costs[0]:.1f} to {costs[-1]:.1f}), {rate:.0f} requests/s in all",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
