"""The Compose files, as far as they can be checked without Docker."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from barnabas.config.environment import read_environment
from barnabas.config.parse import parse_broker_config
from barnabas.config.properties import read_properties
from barnabas.config.settings import BrokerSettings
from barnabas.model.ids import parse_uuid
from barnabas.node.process import STOP_SECONDS_MAX

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "deploy" / "compose").glob("*.yaml"))


def services(path: Path) -> dict[str, Any]:
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", path.read_text())
    found: dict[str, Any] = yaml.safe_load(text)["services"]
    return found


def nodes(path: Path) -> dict[str, Any]:
    return {name: service for name, service in services(path).items() if name != "cli"}


def settings(service: dict[str, Any]) -> BrokerSettings:
    """The settings that the image's entrypoint would give the server."""
    variables = {name: str(value) for name, value in service["environment"].items()}
    whole = "KAFKA_PROCESS_ROLES" in variables
    in_file = {} if whole else read_properties((ROOT / "deploy/docker/server.properties").read_text())
    from_environment = read_environment(variables, in_file)
    assert from_environment.unknown == ()
    return parse_broker_config({**in_file, **from_environment.properties})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_settings_of_every_node_are_valid(path: Path) -> None:
    for name, service in nodes(path).items():
        parsed = settings(service)
        advertised = parsed.strings("advertised.listeners")
        assert f"PLAINTEXT://{name}:19092" in advertised
        # A controller that does not advertise its listener is known by the name of its machine,
        # which other containers need not resolve.
        assert f"CONTROLLER://{name}:9093" in advertised
        published = {port.split(":")[1] for port in service["ports"]}
        (for_host,) = (each for each in advertised if each.startswith("HOST://"))
        assert for_host.rpartition(":")[2] in published, "a client of the machine reaches the port that it is given"
        parse_uuid(service["environment"]["CLUSTER_ID"])


def test_three_nodes_are_the_voters_that_each_of_them_names() -> None:
    found = nodes(ROOT / "deploy/compose/three.yaml")
    voters = [f"{settings(service).integer('node.id')}@{name}:9093" for name, service in found.items()]
    assert len(voters) == 3
    for service in found.values():
        parsed = settings(service)
        assert list(parsed.strings("controller.quorum.voters")) == voters
        assert parsed.integer("min.insync.replicas") == parsed.integer("default.replication.factor") - 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_node_keeps_its_own_volume_and_has_time_to_stop(path: Path) -> None:
    volumes = [service["volumes"] for service in nodes(path).values()]
    assert len({str(volume) for volume in volumes}) == len(volumes)
    declared = yaml.safe_load(path.read_text())["volumes"]
    for service, (volume,) in zip(nodes(path).values(), volumes, strict=True):
        name, _, target = volume.partition(":")
        assert name in declared
        assert target == "/var/lib/barnabas"
        assert int(service["stop_grace_period"].removesuffix("s")) > STOP_SECONDS_MAX


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_docker_compose_accepts_the_file(path: Path) -> None:
    if shutil.which("docker") is None or subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("docker compose is not installed")
    subprocess.run(["docker", "compose", "--file", str(path), "--profile", "cli", "config", "--quiet"], check=True)
