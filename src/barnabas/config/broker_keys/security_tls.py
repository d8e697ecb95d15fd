"""TLS. Every key may also be set for one listener, as ``listener.name.<listener>.<key>``."""

from __future__ import annotations

from barnabas.config.declare import BOOLEAN, CLASS, LIST, PASSWORD, PER_BROKER, STRING, ConfigKey, list_of, one_of, refused
from barnabas.config.effects import OPENSSL_SERVES_TLS

KEYS = (
    ConfigKey(
        "ssl.client.auth",
        STRING,
        "none",
        "Whether clients must show a certificate: required, requested or none.",
        scope=PER_BROKER,
        valid=one_of("required", "requested", "none"),
    ),
    ConfigKey(
        "ssl.principal.mapping.rules",
        STRING,
        "DEFAULT",
        "Rules that turn a certificate's distinguished name into a user name.",
    ),
    ConfigKey(
        "ssl.allow.dn.changes",
        BOOLEAN,
        False,
        "Whether a renewed certificate may carry another distinguished name.",
    ),
    ConfigKey(
        "ssl.allow.san.changes",
        BOOLEAN,
        False,
        "Whether a renewed certificate may carry other alternative names.",
    ),
    ConfigKey("ssl.protocol", STRING, "TLSv1.3", "The TLS protocol to prefer.", scope=PER_BROKER),
    ConfigKey(
        "ssl.enabled.protocols",
        LIST,
        ("TLSv1.2", "TLSv1.3"),
        "The TLS versions that may be used.",
        scope=PER_BROKER,
        valid=list_of(),
    ),
    ConfigKey(
        "ssl.cipher.suites",
        LIST,
        (),
        "The cipher suites that may be used; empty leaves the choice to the library.",
        scope=PER_BROKER,
        valid=list_of(),
    ),
    ConfigKey("ssl.provider", STRING, None, "The JVM security provider for TLS connections.", scope=PER_BROKER, effect=OPENSSL_SERVES_TLS),
    ConfigKey("ssl.keystore.type", STRING, "JKS", "The format of the key store: JKS, PKCS12 or PEM.", scope=PER_BROKER),
    ConfigKey(
        "ssl.keystore.location",
        STRING,
        None,
        "The file with this node's private key and certificate.",
        scope=PER_BROKER,
    ),
    ConfigKey("ssl.keystore.password", PASSWORD, None, "The password of the key store file.", scope=PER_BROKER),
    ConfigKey("ssl.keystore.key", PASSWORD, None, "This node's private key, given inline as PEM.", scope=PER_BROKER),
    ConfigKey(
        "ssl.keystore.certificate.chain",
        PASSWORD,
        None,
        "This node's certificate chain, given inline as PEM.",
        scope=PER_BROKER,
    ),
    ConfigKey("ssl.key.password", PASSWORD, None, "The password of the private key.", scope=PER_BROKER),
    ConfigKey(
        "ssl.truststore.type",
        STRING,
        "JKS",
        "The format of the trust store: JKS, PKCS12 or PEM.",
        scope=PER_BROKER,
    ),
    ConfigKey("ssl.truststore.location", STRING, None, "The file with the certificates to trust.", scope=PER_BROKER),
    ConfigKey("ssl.truststore.password", PASSWORD, None, "The password of the trust store file.", scope=PER_BROKER),
    ConfigKey(
        "ssl.truststore.certificates",
        PASSWORD,
        None,
        "The certificates to trust, given inline as PEM.",
        scope=PER_BROKER,
    ),
    ConfigKey(
        "ssl.keymanager.algorithm", STRING, "SunX509", "The JVM's algorithm for key managers.", scope=PER_BROKER, effect=OPENSSL_SERVES_TLS
    ),
    ConfigKey(
        "ssl.trustmanager.algorithm", STRING, "PKIX", "The JVM's algorithm for trust managers.", scope=PER_BROKER, effect=OPENSSL_SERVES_TLS
    ),
    ConfigKey(
        "ssl.endpoint.identification.algorithm",
        STRING,
        "https",
        "How a server's host name is checked against its certificate; empty checks nothing.",
        scope=PER_BROKER,
    ),
    ConfigKey(
        "ssl.secure.random.implementation",
        STRING,
        None,
        "The SecureRandom implementation of a JVM, for TLS.",
        scope=PER_BROKER,
        effect=OPENSSL_SERVES_TLS,
    ),
    ConfigKey(
        "ssl.engine.factory.class",
        CLASS,
        None,
        "The class that makes TLS engines.",
        scope=PER_BROKER,
        effect=refused("engine factories are JVM classes, and ignoring one would use other keys"),
    ),
)
