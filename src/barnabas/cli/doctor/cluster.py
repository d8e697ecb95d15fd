"""A running cluster: its clock, and its brokers at the addresses that they advertise."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from functools import partial

from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.cluster.client import Cluster
from barnabas.cli.doctor.finding import Finding, ok, problem, run_side_by_side, warning
from barnabas.cli.quorum.description import describe_quorum
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

CONNECT_SECONDS_MAX = 3.0
# Finding the address of a name may take longer than the connection.
BROKER_SECONDS_MAX = 8.0
CLOCK_SECONDS_MAX = 2.0


def brokers(cluster: Cluster) -> Iterable[Finding]:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    response: DescribeClusterResponse = Brokers(cluster).ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, response.error_message, "Cannot list the brokers")
    running = [each for each in response.brokers if not each.is_fenced]
    yield ok("cluster", f"{response.cluster_id} at {cluster.bootstrap}: {len(running)} of {len(response.brokers)} brokers are unfenced.")
    for each in response.brokers:
        if each.is_fenced:
            fact = f"It is registered, but fenced: {each.host or 'its address is unknown'}."
            yield warning(f"broker {each.broker_id}", fact, "Start it, or remove it for good: barnabas brokers unregister.")
    checks = {f"broker {each.broker_id}": partial(_advertised, f"broker {each.broker_id}", each.host, each.port) for each in running}
    yield from run_side_by_side(checks, seconds_max=BROKER_SECONDS_MAX)


def _advertised(name: str, host: str, port: int) -> list[Finding]:
    return [advertised(name, host, port)]


def advertised(name: str, host: str, port: int) -> Finding:
    """Whether this machine reaches an address that clients get from the cluster."""
    address = f"{host}:{port}"
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS_MAX).close()
    except socket.gaierror:
        fact = f"It advertises {address}, but {host} is not a name that this machine knows."
        return problem(name, fact, "Advertise a name or address that clients can resolve (advertised.listeners).")
    except TimeoutError:
        fact = f"It advertises {address}, but no connection comes about within {CONNECT_SECONDS_MAX:g} s."
        return problem(name, fact, "Open the firewall, or advertise an address on this network (advertised.listeners).")
    except OSError as error:
        fact = f"It advertises {address}, but the connection fails: {(error.strerror or str(error)).lower()}."
        return problem(name, fact, "Advertise the address and port where clients reach it (advertised.listeners).")
    return ok(name, f"It can be reached at {address}.")


def clock(cluster: Cluster) -> Iterable[Finding]:
    """The leader of the quorum reports its own time with its own progress."""
    before = time.time()
    quorum = describe_quorum(Brokers(cluster))
    after = time.time()
    leader = quorum.leader
    if leader is None or leader.last_fetch_timestamp <= 0:
        yield ok("cluster clock", "The cluster does not tell its time.")
        return
    theirs = leader.last_fetch_timestamp / 1000
    ahead = theirs - after if theirs > after else min(0.0, theirs - before)
    if abs(ahead) > CLOCK_SECONDS_MAX:
        direction = "ahead of" if ahead > 0 else "behind"
        fact = f"The clock of controller {leader.replica_id} is {abs(ahead):.1f} s {direction} the clock here."
        yield warning("cluster clock", fact, "Synchronise the clocks with NTP: timestamps, retention and lag in seconds depend on them.")
    else:
        yield ok("cluster clock", f"The clock of controller {leader.replica_id} agrees with the clock here.")
