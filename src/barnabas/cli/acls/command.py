"""``barnabas acls``: list, add, remove and explain rules."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from barnabas.cli.acls.requests import create_acls, delete_acls, describe_acls
from barnabas.cli.acls.rule_names import complete_operations, complete_resource_types, operation_named, resource_type_named
from barnabas.cli.acls.rules import Roles, Subjects, check_operation, check_principal, filters, resources_named, rules
from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.security.acls.acl import ANY_HOST, CLUSTER_NAME, Acl, PatternType, Resource, ResourceType
from barnabas.security.acls.acl_filter import AclFilter
from barnabas.security.acls.words import name_of

Allow = Annotated[
    list[str], typer.Option("--allow", metavar="PRINCIPAL", help="Allow this principal: User:alice, or User:* for everyone; repeatable.")
]
Deny = Annotated[
    list[str], typer.Option("--deny", metavar="PRINCIPAL", help="Deny this principal, even if another rule allows it; repeatable.")
]
Operations = Annotated[
    list[str],
    typer.Option("--operation", metavar="OPERATION", autocompletion=complete_operations, help="read, write, describe, ...; repeatable."),
]
Topics = Annotated[list[str], typer.Option("--topic", metavar="TOPIC", help="A topic; * for all; repeatable.")]
Groups = Annotated[list[str], typer.Option("--group", metavar="GROUP", help="A group; * for all; repeatable.")]
TransactionalIds = Annotated[list[str], typer.Option("--transactional-id", metavar="ID", help="A transactional id; repeatable.")]
Tokens = Annotated[list[str], typer.Option("--token", metavar="ID", help="A delegation token, by its id; repeatable.")]
Users = Annotated[list[str], typer.Option("--user", metavar="PRINCIPAL", help="A principal whose tokens others manage; repeatable.")]
OnCluster = Annotated[bool, typer.Option("--cluster", help="The cluster itself.")]
Prefixed = Annotated[bool, typer.Option("--prefixed", help="Names are prefixes: --topic or stands for orders and for organs.")]
Hosts = Annotated[list[str], typer.Option("--host", metavar="ADDRESS", help="Where the client is; repeatable.")]
Producer = Annotated[bool, typer.Option("--producer", help="What a producer needs on --topic and --transactional-id.")]
Consumer = Annotated[bool, typer.Option("--consumer", help="What a consumer needs on --topic and --group.")]
Idempotent = Annotated[
    bool, typer.Option("--idempotent", help="With --producer: also idempotent writes, which Kafka before 2.8 asks for on the cluster.")
]

_COLUMNS = ("Permission", "Principal", "Operation", "Resource", "Name", "Pattern", "Host")


def register(app: typer.Typer) -> None:
    acls = typer.Typer(help="Rules of who may do what: list, add, remove and explain them.", no_args_is_help=True)
    acls.command("list")(list_rules)
    acls.command("add")(add)
    acls.command("remove")(remove)
    acls.command("check")(check)
    app.add_typer(acls, name="acls")


def list_rules(
    topic: Topics = [],  # noqa: B006
    group: Groups = [],  # noqa: B006
    transactional_id: TransactionalIds = [],  # noqa: B006
    token: Tokens = [],  # noqa: B006
    user: Users = [],  # noqa: B006
    cluster: OnCluster = False,
    principal: Annotated[list[str], typer.Option("--principal", metavar="PRINCIPAL", help="Only rules about it; repeatable.")] = [],  # noqa: B006
    operation: Operations = [],  # noqa: B006
    host: Hosts = [],  # noqa: B006
    literal: Annotated[bool, typer.Option("--literal", help="Only rules about exactly this name.")] = False,
    prefixed: Annotated[bool, typer.Option("--prefixed", help="Only rules about exactly this prefix.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """List the rules: all of them, or those that concern a resource or a principal.

    The rules that concern topic orders are those about this name, about a prefix of it, and about
    all topics."""
    if literal and prefixed:
        raise Refused("--literal and --prefixed exclude each other.")
    pattern = PatternType.LITERAL if literal else PatternType.PREFIXED if prefixed else PatternType.MATCH
    named = resources_named(topics=topic, groups=group, transactional_ids=transactional_id, tokens=token, users=user, cluster=cluster)
    operations = [operation_named(each) for each in operation]
    wanted = filters(named, operations, Roles(), Subjects(hosts=host), pattern)
    if principal:
        wanted = [each._replace(principal=check_principal(who)) for each in wanted for who in principal]
    found = describe_acls(Brokers(reach(bootstrap, config_file)), wanted)
    _print(found, as_json, empty="There are no such rules." if wanted != [AclFilter()] else "There are no rules.")


def add(
    allow: Allow = [],  # noqa: B006
    deny: Deny = [],  # noqa: B006
    operation: Operations = [],  # noqa: B006
    topic: Topics = [],  # noqa: B006
    group: Groups = [],  # noqa: B006
    transactional_id: TransactionalIds = [],  # noqa: B006
    token: Tokens = [],  # noqa: B006
    user: Users = [],  # noqa: B006
    cluster: OnCluster = False,
    prefixed: Prefixed = False,
    host: Hosts = [],  # noqa: B006
    producer: Producer = False,
    consumer: Consumer = False,
    idempotent: Idempotent = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Allow or deny operations on resources. Without --operation all of them, without --host from
    everywhere.

    A rule that exists already stays as it is."""
    named = resources_named(topics=topic, groups=group, transactional_ids=transactional_id, tokens=token, users=user, cluster=cluster)
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    operations = [operation_named(each) for each in operation]
    made = rules(named, operations, Roles(producer, consumer, idempotent), Subjects(allow, deny, host), pattern)
    create_acls(Brokers(reach(bootstrap, config_file)), made)
    _print(made, as_json)
    if not as_json:
        typer.echo(f"Added {_counted(len(made))}.", err=True)


def remove(
    allow: Annotated[list[str], typer.Option("--allow", metavar="PRINCIPAL", help="Only rules that allow it; repeatable.")] = [],  # noqa: B006
    deny: Annotated[list[str], typer.Option("--deny", metavar="PRINCIPAL", help="Only rules that deny it; repeatable.")] = [],  # noqa: B006
    operation: Operations = [],  # noqa: B006
    topic: Topics = [],  # noqa: B006
    group: Groups = [],  # noqa: B006
    transactional_id: TransactionalIds = [],  # noqa: B006
    token: Tokens = [],  # noqa: B006
    user: Users = [],  # noqa: B006
    cluster: OnCluster = False,
    prefixed: Prefixed = False,
    host: Hosts = [],  # noqa: B006
    producer: Producer = False,
    consumer: Consumer = False,
    idempotent: Idempotent = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the rules that would be removed.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Remove the rules that all given options describe, after showing them and asking."""
    named = resources_named(topics=topic, groups=group, transactional_ids=transactional_id, tokens=token, users=user, cluster=cluster)
    if not (named or allow or deny):
        raise Refused("Say which rules to remove: name a resource, or a principal with --allow or --deny.")
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    operations = [operation_named(each) for each in operation]
    wanted = filters(named, operations, Roles(producer, consumer, idempotent), Subjects(allow, deny, host), pattern)
    brokers = Brokers(reach(bootstrap, config_file))
    found = describe_acls(brokers, wanted)
    _print(found, as_json, empty="There are no such rules.")
    if not found or dry_run:
        return
    if not yes:
        _ask(found)
    # By exact filters: a rule that was added meanwhile has not been shown, so it stays.
    removed = delete_acls(brokers, found)
    if not as_json:
        typer.echo(f"Removed {_counted(removed)}.", err=True)


def check(
    principal: Annotated[str, typer.Argument(metavar="PRINCIPAL", help="User:alice")],
    operation: Annotated[str, typer.Argument(metavar="OPERATION", autocompletion=complete_operations)],
    resource: Annotated[str, typer.Argument(metavar="TYPE", autocompletion=complete_resource_types, help="topic, group, cluster, ...")],
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Not for the cluster.")] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where the client is; default: a host that no rule names.")
    ] = ANY_HOST,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Explain whether a principal may do something, and which rule decides.

    The exit code is 1 if it may not."""
    from barnabas.cli.acls.broker_settings import authorizer_settings
    from barnabas.security.acls.explanation import Question, explain
    from barnabas.security.principal import parse_principal

    kind, deed = resource_type_named(resource), operation_named(operation)
    check_operation(kind, deed)
    if kind is ResourceType.CLUSTER:
        name = CLUSTER_NAME
    if name is None:
        raise Refused(f"Give the name of the {name_of(kind)}.")
    question = Question(parse_principal(check_principal(principal)), deed, Resource(kind, name), host)
    brokers = Brokers(reach(bootstrap, config_file))
    settings = authorizer_settings(brokers)
    # Rules for every principal count too, and rules for others tell whether there is any.
    acls = describe_acls(brokers, [AclFilter(kind, name, PatternType.MATCH)])
    explained = explain(question, acls, settings)
    if as_json:
        print_json(
            {
                "allowed": explained.allowed,
                "reason": explained.reason.value,
                "rule": None if explained.rule is None else _as_json(explained.rule),
                "differs_at": list(explained.differs_at),
                "super_users_known": settings.super_users is not None,
            }
        )
    else:
        typer.echo(explained.sentence())
        if explained.rule is not None:
            print_table(_COLUMNS, [_row(explained.rule)])
        for each in explained.differs_at:
            typer.echo(f"From {each} it {'may not' if explained.allowed else 'may'}.")
        if settings.super_users is None:
            typer.echo("Super users may do everything; this cluster does not tell who they are.", err=True)
    if not explained.allowed:
        raise typer.Exit(1)


def _ask(found: Sequence[Acl]) -> None:
    question = f"Remove {'this rule' if len(found) == 1 else f'these {len(found)} rules'}?"
    if not sys.stdin.isatty():
        raise Refused("This is not a terminal, so the question cannot be asked: give --yes, or --dry-run to see the rules alone.")
    if not typer.confirm(question):
        raise Refused("Nothing was removed.")


def _print(acls: Sequence[Acl], as_json: bool, empty: str | None = None) -> None:
    if as_json:
        print_json([_as_json(each) for each in acls])
    else:
        print_table(_COLUMNS, [_row(each) for each in acls], empty=empty)


def _row(acl: Acl) -> tuple[str, ...]:
    return tuple(_as_json(acl).values())


def _as_json(acl: Acl) -> dict[str, Any]:
    return {
        "permission": name_of(acl.permission),
        "principal": acl.principal,
        "operation": name_of(acl.operation),
        "resource_type": name_of(acl.resource_type),
        "resource_name": acl.resource_name,
        "pattern": name_of(acl.pattern_type),
        "host": acl.host,
    }


def _counted(count: int) -> str:
    return f"{count} rule{'' if count == 1 else 's'}"
