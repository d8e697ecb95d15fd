"""``barnabas reassign``: move partitions between brokers and between the directories of a broker;
watch and cancel moves.

The files are those of Kafka's ``kafka-reassign-partitions``, with ``log_dirs`` for replicas that
belong in a certain directory. A throttle stays in place until ``verify`` finds the moves complete
and removes it, so the user has to run ``verify``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from barnabas.cli.cluster.broker_requests import Broker, Brokers
from barnabas.cli.cluster.options import Bootstrap, ConfigFile
from barnabas.cli.cluster.reach import reach
from barnabas.cli.errors import Refused
from barnabas.cli.reassign.plan import ReplicaName, as_json as plan_as_json, read_plan, read_topics
from barnabas.cli.reassign.replica_directories import Place, place_replicas, places_of
from barnabas.cli.reassign.requests import (
    Member,
    Ongoing,
    alter_reassignments,
    clear_throttles,
    current_assignment,
    members,
    ongoing_reassignments,
    refuse_unknown_brokers,
    set_directory_throttles,
    set_throttles,
)
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.reassignment.assignment import Assignment, PartitionName
from barnabas.reassignment.proposal import CannotAssign, propose
from barnabas.reassignment.throttles import Move, follower_throttles, leader_throttles

_MISSING = "-"
# A new replica appears on its broker soon after the controller has assigned it. Kafka's tool waits
# as long.
REPLICA_SECONDS_MAX = 10.0

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN.json", help="The file with the plan.")]
PreserveThrottles = Annotated[bool, typer.Option("--preserve-throttles", help="Keep the throttles.")]


def register(app: typer.Typer) -> None:
    reassign = typer.Typer(help="Move partitions between brokers and directories.", no_args_is_help=True)
    reassign.command("generate")(generate)
    reassign.command("execute")(execute)
    reassign.command("verify")(verify)
    reassign.command("cancel")(cancel)
    reassign.command("list")(list_ongoing)
    app.add_typer(reassign, name="reassign")


def generate(
    brokers: Annotated[str, typer.Option("--brokers", metavar="1,2,3", help="The brokers to spread the partitions over.")],
    topic: Annotated[list[str], typer.Option("--topic", metavar="TOPIC", help="May be given several times.")] = [],  # noqa: B006
    topics_file: Annotated[Path | None, typer.Option("--topics-file", metavar="FILE", help='{"topics": [{"topic": "t"}], ...}')] = None,
    disable_rack_aware: Annotated[bool, typer.Option("--disable-rack-aware", help="Ignore the racks of brokers.")] = False,
    plan_to: Annotated[Path | None, typer.Option("--plan-to", metavar="FILE", help="Write the plan to this file.")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Propose a plan that spreads topics evenly over brokers and moves as few replicas as that
    allows."""
    names = [*topic, *(read_topics(topics_file) if topics_file is not None else [])]
    if not names:
        raise Refused("Choose the topics to move with --topic or --topics-file.")
    wanted = _parse_brokers(brokers)
    cluster = reach(bootstrap, config_file)
    registered = members(Brokers(cluster))
    refuse_unknown_brokers(wanted, registered)
    chosen = {each: None if disable_rack_aware else registered[each].rack for each in wanted}
    if None in chosen.values() and any(chosen.values()):
        raise Refused("Only some of the brokers have a rack; --disable-rack-aware ignores racks.")
    current = current_assignment(cluster.admin(), names)
    try:
        proposed = propose(current, chosen)
    except CannotAssign as error:
        raise Refused(str(error)) from error
    if plan_to is not None:
        _write(plan_to, plan_as_json(proposed))
    if as_json:
        print_json({"current": plan_as_json(current), "proposed": plan_as_json(proposed)})
        return
    typer.echo(f"Current partition replica assignment\n{_compact(current)}\n")
    typer.echo(f"Proposed partition reassignment configuration\n{_compact(proposed)}")


def execute(
    plan_file: PlanFile,
    throttle: Annotated[
        int | None, typer.Option("--throttle", metavar="BYTES", min=1, help="Bytes a second that a broker may move.")
    ] = None,
    directory_throttle: Annotated[
        int | None,
        typer.Option(
            "--directory-throttle", metavar="BYTES", min=1, help="Bytes a second that a broker may move between its own directories."
        ),
    ] = None,
    additional: Annotated[
        bool, typer.Option("--additional", help="Start even if other moves are in progress; also changes their throttle.")
    ] = False,
    disallow_replication_factor_change: Annotated[
        bool, typer.Option("--disallow-replication-factor-change", help="Refuse plans that change the number of replicas.")
    ] = False,
    rollback_to: Annotated[
        Path | None, typer.Option("--rollback-to", metavar="FILE", help="Write the plan that undoes this one to a file.")
    ] = None,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Start to move partitions. The current assignment is printed first, as the plan that would
    undo the move."""
    plan = read_plan(plan_file)
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    under_way = ongoing_reassignments(brokers)
    if under_way and not additional:
        raise Refused(f"{_count(under_way, 'partition')} {_are(under_way)} being reassigned already; --additional starts more anyway.")
    registered = members(brokers)
    refuse_unknown_brokers((each for replicas in plan.assignment.values() for each in replicas), registered)
    there = current_assignment(cluster.admin(), [each.topic for each in plan.assignment])
    for missing in sorted(set(plan.assignment) - set(there)):
        raise Refused(f"There is no partition {missing}.")
    before = {each: there[each] for each in plan.assignment}
    if rollback_to is not None:
        _write(rollback_to, plan_as_json(before))
    typer.echo(f"Current partition replica assignment\n\n{_compact(before)}\n")
    if throttle is not None:
        moves = _moves(plan.assignment, before, under_way)
        taking_part = {broker for move in moves.values() for broker in move.sources | move.targets}
        asked = _present({each: member for each, member in registered.items() if each in taking_part})
        set_throttles(brokers, leader_throttles(moves), follower_throttles(moves), dict.fromkeys(asked, throttle))
        typer.echo(f"Replication is throttled to {throttle} bytes a second until `barnabas reassign verify` finds the moves done.")
    chosen_on = _present({each: registered[each] for each in sorted({replica.broker for replica in plan.directories})})
    if directory_throttle is not None:
        set_directory_throttles(brokers, dict.fromkeys(chosen_on, directory_throttle))
        typer.echo(f"Moves between directories are throttled to {directory_throttle} bytes a second until then.")
    # Choose directories before the reassignment: a broker creates a new replica in the chosen
    # directory if it knows it by then.
    place_replicas(brokers, chosen_on, plan.directories, seconds_max=0)
    refused = alter_reassignments(brokers, plan.assignment, may_change_replication_factor=not disallow_replication_factor_change)
    _refuse_some(refused, "Cannot reassign")
    misplaced = place_replicas(brokers, chosen_on, plan.directories, seconds_max=REPLICA_SECONDS_MAX)
    _refuse_some({str(replica): why for replica, why in misplaced.items()}, "Cannot move to its directory")
    typer.echo(f"Started to reassign {_names(plan.assignment)}.")


def verify(
    plan_file: PlanFile,
    preserve_throttles: PreserveThrottles = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Show the progress of a plan, and remove the throttles when all moves are complete. Exit code
    1 until then."""
    plan = read_plan(plan_file)
    cluster = reach(bootstrap, config_file)
    brokers = Brokers(cluster)
    under_way = ongoing_reassignments(brokers)
    described = cluster.admin().describe_topics(list(dict.fromkeys(each.topic for each in plan.assignment)), missing_ok=True)
    there = {
        PartitionName(topic.name, each.id): [node.id for node in each.replicas] for topic in described.values() for each in topic.partitions
    }
    rows: list[dict[str, Any]] = [
        {"topic": each.topic, "partition": each.number, "state": _state(there.get(each), target, each in under_way)}
        | {"replicas": there.get(each, []), "target": target}
        for each, target in sorted(plan.assignment.items())
    ]
    present = _present(members(brokers))
    places = places_of(brokers, present, plan.directories)
    replicas = [_placed(replica, directory, places.get(replica, Place())) for replica, directory in sorted(plan.directories.items())]
    clear = not under_way and not preserve_throttles and all(row["state"] != "in progress" for row in replicas)
    if clear:
        clear_throttles(brokers, topics=described, of_brokers=present)
    if as_json:
        print_json({"partitions": rows, "replicas": replicas, "throttles_cleared": clear})
    else:
        print_table(
            ("Topic", "Partition", "State", "Replicas", "Target"),
            [(row["topic"], row["partition"], row["state"], _ids(row["replicas"]), _ids(row["target"])) for row in rows],
        )
        if replicas:
            typer.echo()
            print_table(
                ("Topic", "Partition", "Broker", "State", "Directory", "Target"),
                [
                    (row["topic"], row["partition"], row["broker"], row["state"], row["directory"] or _MISSING, row["target"])
                    for row in replicas
                ],
            )
        if clear:
            typer.echo("\nNothing is being reassigned, so replication is no longer throttled.")
    if any(row["state"] != "complete" for row in [*rows, *replicas]):
        raise typer.Exit(1)


def cancel(
    plan_file: PlanFile,
    preserve_throttles: PreserveThrottles = False,
    bootstrap: Bootstrap = None,
    config_file: ConfigFile = None,
) -> None:
    """Cancel the moves of a plan that are in progress: the partitions keep the replicas they
    had."""
    plan = read_plan(plan_file)
    brokers = Brokers(reach(bootstrap, config_file))
    moving = [each for each in ongoing_reassignments(brokers) if each in plan.assignment]
    if moving:
        _refuse_some(alter_reassignments(brokers, dict.fromkeys(moving)), "Cannot cancel the reassignment of")
        typer.echo(f"Cancelled the reassignment of {_names(moving)}.")
    else:
        typer.echo("None of these partitions is being reassigned.")
    present = _present(members(brokers))
    places = places_of(brokers, present, plan.directories)
    # A move to the current directory ends the move in progress.
    back = {replica: place.current for replica, place in places.items() if place.future is not None and place.current is not None}
    if back:
        _refuse_some({str(each): why for each, why in place_replicas(brokers, present, back, seconds_max=0).items()}, "Cannot keep")
        typer.echo(f"Kept {', '.join(map(str, sorted(back)))} in the directories they are in.")
    if not preserve_throttles:
        clear_throttles(brokers, topics=(each.topic for each in plan.assignment), of_brokers=present)


def list_ongoing(as_json: AsJson = False, bootstrap: Bootstrap = None, config_file: ConfigFile = None) -> None:
    """List the partitions that are being reassigned."""
    under_way = ongoing_reassignments(Brokers(reach(bootstrap, config_file)))
    if as_json:
        print_json([{"topic": each.topic, "partition": each.number, **ongoing._asdict()} for each, ongoing in under_way.items()])
        return
    print_table(
        ("Topic", "Partition", "Replicas", "Adding", "Removing"),
        [(*each, _ids(ongoing.replicas), _ids(ongoing.adding), _ids(ongoing.removing)) for each, ongoing in under_way.items()],
        empty="No partition is being reassigned.",
    )


def _moves(target: Assignment, before: Assignment, under_way: dict[PartitionName, Ongoing]) -> dict[PartitionName, Move]:
    """All moves of this plan and those in progress: the throttle of the latter is set again."""
    moves = {each: ongoing.move for each, ongoing in under_way.items()}
    for partition, replicas in target.items():
        sources = moves[partition].sources if partition in moves else frozenset(before[partition])
        moves[partition] = Move(sources, frozenset(replicas) - sources)
    return moves


def _present(registered: Mapping[int, Member]) -> list[Broker]:
    """The brokers that are up. A broker alters its own settings, so one that is down keeps its
    throttle, and the user is warned."""
    away = [each for each, member in registered.items() if member.broker is None]
    if away:
        verb = "is" if len(away) == 1 else "are"
        typer.echo(f"Broker {_ids(away)} {verb} down and keeps the throttle.", err=True)
    return [member.broker for member in registered.values() if member.broker is not None]


def _state(replicas: list[int] | None, target: list[int], moving: bool) -> str:
    if moving:
        return "in progress"
    if replicas is None:
        return "no such partition"
    return "complete" if replicas == target else "not reassigned"


def _placed(replica: ReplicaName, target: str, place: Place) -> dict[str, Any]:
    if place.current == target:
        state = "complete"
    elif place.future == target:
        state = "in progress"
    else:
        state = "no such replica" if place.current is None else "not moved"
    (topic, number), broker = replica
    return {"topic": topic, "partition": number, "broker": broker, "state": state, "directory": place.current, "target": target}


def _refuse_some(refused: Mapping[Any, str], doing: str) -> None:
    if refused:
        raise Refused(f"{doing} {'; '.join(f'{each}: {why}' for each, why in sorted(refused.items()))}.")


def _parse_brokers(text: str) -> list[int]:
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError as error:
        raise Refused(f"--brokers takes broker ids such as 1,2,3, but was given {text!r}.") from error
    if len(set(found)) < len(found):
        raise Refused(f"--brokers names a broker twice: {text}.")
    return found


def _write(path: Path, document: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error


def _compact(assignment: Assignment) -> str:
    """On one line, as Kafka's tool prints it, to be copied."""
    return json.dumps(plan_as_json(assignment), separators=(",", ":"), ensure_ascii=False)


def _names(partitions: Any) -> str:
    return ", ".join(map(str, sorted(partitions)))


def _count(things: Any, noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _are(things: Any) -> str:
    return "is" if len(things) == 1 else "are"


def _ids(brokers: list[int]) -> str:
    return ",".join(map(str, brokers)) or _MISSING
