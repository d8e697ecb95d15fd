"""Authorization and principals.

Kafka's StandardAuthorizer reads ``super.users`` and ``allow.everyone.if.no.acl.found``. They are in
no ConfigDef, so DescribeConfigs gives them no type and hides their values.
"""

from __future__ import annotations

from barnabas.config.declare import BOOLEAN, CLASS, LIST, PER_BROKER, STRING, ConfigKey, list_of, no_effect, refused

STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

KEYS = (
    ConfigKey(
        "authorizer.class.name",
        STRING,
        "",
        "The authorizer that decides what each principal may do; empty allows everything.",
    ),
    ConfigKey(
        "super.users",
        STRING,
        "",
        "Principals that may do everything, as Type:name entries separated by semicolons.",
    ),
    ConfigKey(
        "allow.everyone.if.no.acl.found",
        BOOLEAN,
        False,
        "Whether a resource without any ACL is open to everyone.",
    ),
    ConfigKey(
        "early.start.listeners",
        LIST,
        None,
        "Listeners that open before the authorizer has loaded its ACLs.",
        valid=list_of(),
        effect=no_effect("clients' listeners open when the rules are known, and controllers' listeners always"),
    ),
    ConfigKey(
        "principal.builder.class",
        CLASS,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        "The class that turns an authenticated connection into a principal.",
        scope=PER_BROKER,
        effect=refused("principal builders are JVM classes, and ignoring one would give clients other names"),
    ),
    ConfigKey(
        "security.providers",
        STRING,
        None,
        "Classes that add security algorithms.",
        effect=refused("security providers are JVM classes, and ignoring one would change which algorithms are used"),
    ),
)
