"""Spark's connector with each mechanism, on SASL_PLAINTEXT and on SASL_SSL.

The nodes and the properties are those of the other clients (``tests/conformance/security``). All
tests share one Spark session, so what Java takes from system properties is set in its JVM.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from barnabas.devcluster.certificates import CertificateAuthority
from barnabas.pipelines.kafka_settings import for_spark
from peers.kerberos import Realm, kerberos_realm, why_missing
from tests.conformance.security.nodes import MECHANISMS, PROTOCOLS, SecureNode, java_properties, secure_node
from tests.scenarios.security.certificates import HOSTS, NOW, Files, pem_stores
from tests.scenarios.security.identity_provider import IdentityProvider, identity_provider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
KERBEROS_CONFIG = "java.security.krb5.conf"


@pytest.fixture(scope="module")
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as running:
        yield running


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm | None]:
    """None where there is no KDC: the test of GSSAPI is skipped then."""
    if why_missing() is not None:
        yield None
        return
    with kerberos_realm(tmp_path_factory.mktemp("kerberos")) as running, pytest.MonkeyPatch.context() as environment:
        for name, value in running.environment.items():
            environment.setenv(name, value)
        yield running


@pytest.fixture(scope="module", params=PROTOCOLS)
def node(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, provider: IdentityProvider, realm: Realm | None
) -> Iterator[SecureNode]:
    files = Files(tmp_path_factory.mktemp("tls"), CertificateAuthority.make("Barnabas tests", now=NOW))
    tls = pem_stores(files, files.authority.issue("node", HOSTS, now=NOW))
    with secure_node(request.param, provider, tls, realm) as running:
        yield running


@pytest.fixture
def secured_spark(spark: SparkSession, provider: IdentityProvider, realm: Realm | None) -> Iterator[SparkSession]:
    properties = {ALLOWED_URLS: provider.token_url}
    if realm is not None:
        properties[KERBEROS_CONFIG] = os.fspath(realm.config)
    java = spark._jvm.java.lang.System  # type: ignore[union-attr]
    for name, value in properties.items():
        java.setProperty(name, value)
    yield spark
    for name in properties:
        java.clearProperty(name)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_spark_writes_and_reads_with_the_settings_of_a_client_file(node: SecureNode, secured_spark: SparkSession, mechanism: str) -> None:
    if mechanism == "GSSAPI" and why_missing() is not None:
        pytest.skip(why_missing() or "")
    topic = f"spark-{mechanism}"
    options = for_spark(node.bootstrap, java_properties(node, mechanism))
    values = secured_spark.createDataFrame([("a",), ("b",)], "value STRING").coalesce(1)
    values.write.format("kafka").options(**options).option("topic", topic).save()
    found = secured_spark.read.format("kafka").options(**options).option("subscribe", topic).load().collect()
    assert [bytes(row["value"]) for row in found] == [b"a", b"b"]
