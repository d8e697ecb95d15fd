"""The Helm chart. Tests that render it are skipped where Helm is not installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from barnabas import __version__
from barnabas.config.parse import parse_broker_config
from barnabas.config.properties import read_properties
from barnabas.config.settings import BrokerSettings
from barnabas.node.process import STOP_SECONDS_MAX

CHART = Path(__file__).parents[3] / "deploy" / "helm" / "barnabas"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = sorted((CHART / "templates").iterdir())
CLUSTER = "clusterId=Zk9pVYQKSuaPWzQH2mR4Rg"
OUTSIDE = "externalAccess.enabled=true,externalAccess.addresses={a:31090,b:31091,c:31092}"
# Objects that users fill with keys of Kubernetes or of Kafka.
FREE = {"config", "resources", "podAnnotations", "podLabels", "nodeSelector", "affinity", "annotations", "labels"}

needs_helm = pytest.mark.skipif(shutil.which("helm") is None, reason="Helm is not installed")


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_the_schema_describes_exactly_the_values() -> None:
    def compare(values: dict[str, Any], schema: dict[str, Any]) -> None:
        assert set(values) == set(schema["properties"]) - {"global"}
        assert schema["additionalProperties"] is False, "a misspelt value is an error"
        for name, value in values.items():
            if isinstance(value, dict) and name not in FREE:
                compare(value, schema["properties"][name])

    compare(VALUES, SCHEMA)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_use_only_values_that_exist(path: Path) -> None:
    for dotted in re.findall(r"\.Values\.([\w.]+)", path.read_text()):
        found: Any = VALUES
        for name in dotted.split("."):
            assert name in found, dotted
            found = found[name]


def rendered(*assignments: str) -> list[dict[str, Any]]:
    words = [word for each in (CLUSTER, *assignments) for word in ("--set", each)]
    run = subprocess.run(["helm", "template", "barnabas", str(CHART), *words], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return [document for document in yaml.safe_load_all(run.stdout) if document]


def one(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    (found,) = (each for each in documents if each["kind"] == kind)
    return found


def settings_of_node(documents: list[dict[str, Any]], node: int) -> BrokerSettings:
    """The settings that the entrypoint of one pod would get; the script runs, the entrypoint does
    not."""
    data = one(documents, "ConfigMap")["data"]
    script = data["start.sh"].replace("exec barnabas-entrypoint server", "env")
    run = subprocess.run(
        ["sh", "-c", script], env={"POD_NAME": f"barnabas-{node}", "PATH": "/usr/bin:/bin"}, capture_output=True, check=True
    )
    variables = dict(line.split("=", 1) for line in run.stdout.decode().splitlines() if line.startswith("KAFKA_"))
    own = {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in variables.items()}
    return parse_broker_config({**read_properties(data["server.properties"]), **own})


@needs_helm
@pytest.mark.parametrize("assignments", [(), ("replicas=1,controllers=1",), ("replicas=4",), (OUTSIDE,)], ids=str)
def test_the_settings_of_every_node_are_valid(assignments: tuple[str, ...]) -> None:
    documents = rendered(*assignments)
    replicas = one(documents, "StatefulSet")["spec"]["replicas"]
    for node in range(replicas):
        settings = settings_of_node(documents, node)
        voters = settings.strings("controller.quorum.voters")
        assert settings.integer("node.id") == node
        assert ("controller" in settings.strings("process.roles")) == (node < len(voters))
        assert settings.integer("min.insync.replicas") < max(2, settings.integer("default.replication.factor"))


@needs_helm
def test_each_node_advertises_its_own_outside_address() -> None:
    documents = rendered(OUTSIDE)
    advertised = [settings_of_node(documents, node).strings("advertised.listeners") for node in range(3)]
    for listeners, address in zip(advertised, ("a:31090", "b:31091", "c:31092"), strict=True):
        assert f"EXTERNAL://{address}" in listeners


@needs_helm
def test_voters_are_names_of_pods_in_the_headless_service() -> None:
    documents = rendered()
    stateful = one(documents, "StatefulSet")
    pattern = rf"(\d)@{stateful['metadata']['name']}-\1\.{stateful['spec']['serviceName']}\.default\.svc\.cluster\.local:9093"
    voters = settings_of_node(documents, 0).strings("controller.quorum.voters")
    assert len(voters) == 3
    assert all(re.fullmatch(pattern, voter) for voter in voters)


@needs_helm
def test_a_pod_has_time_for_its_wait_and_its_controlled_shutdown() -> None:
    pod = one(rendered(), "StatefulSet")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] > VALUES["restartWaitSeconds"] + STOP_SECONDS_MAX


@needs_helm
@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("replicas=2", "controllers is 3, but there are only 2 replicas."),
        ("externalAccess.enabled=true", "externalAccess.addresses has 0 entries, but there are 3 replicas."),
        ("clusterId=short", "clusterId"),
        ("replicsa=3", "replicsa"),
    ],
)
def test_wrong_values_are_refused_with_a_sentence(assignment: str, sentence: str) -> None:
    command = ["helm", "template", "barnabas", str(CHART), "--set", CLUSTER, "--set", assignment]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert sentence in refused.stderr
