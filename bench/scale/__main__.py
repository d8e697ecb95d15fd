"""``python -m bench.scale``: one line for each size and server."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from bench.measurement import MeasurementFailed
from bench.scale.members import PROTOCOLS, measure_members
from bench.scale.offsets import measure_offsets
from bench.systems import ApacheKafka, Barnabas, ServerDied, System

SYSTEMS: dict[str, type[System]] = {"barnabas": Barnabas, "kafka": ApacheKafka}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description="The cost of groups, by their number and size.")
    parser.add_argument("--system", action="append", choices=SYSTEMS, help="one of the servers; both unless given")
    parser.add_argument("--groups", type=int, nargs="*", default=[100, 1000], help="numbers of groups whose offsets are committed")
    parser.add_argument("--partitions", type=int, default=1000, help="offsets of each group")
    parser.add_argument("--members", type=int, nargs="*", default=[100, 300, 1000], help="sizes of groups")
    given = parser.parse_args()
    for key in given.system or SYSTEMS:
        system = SYSTEMS[key]()
        for groups in given.groups:
            with _reported(f"{system.name}, {groups} groups"):
                cost = measure_offsets(system, groups=groups, partitions=given.partitions)
                print(
                    f"{system.name}, {groups} groups, {cost.offsets} offsets: {cost.commit_cpu_us:.1f} us of CPU and {cost.bytes_each:.0f}"
                    f" bytes each; served {cost.load_seconds:.1f} s after a restart, {cost.load_cpu_seconds:.1f} s of CPU"
                )
        for protocol in PROTOCOLS:
            for members in given.members:
                with _reported(f"{system.name}, {protocol} group of {members}"):
                    formed = measure_members(system, protocol=protocol, members=members)
                    print(
                        f"{system.name}, {protocol} group of {members}: stable after {formed.form_seconds:.2f} s,"
                        f" {formed.form_cpu_seconds:.2f} s of CPU; heartbeats take {formed.steady_cpu:.2f} of a core"
                    )


@contextmanager
def _reported(what: str) -> Iterator[None]:
    """A size that a server cannot do is a result, too."""
    try:
        yield
    except (MeasurementFailed, ServerDied, OSError) as error:
        print(f"{what}: {error}")


if __name__ == "__main__":
    main()
