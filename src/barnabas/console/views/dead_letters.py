"""Dead letters: records that failed, by reason; one letter; redrives of some or all of them.

A redrive is two steps: :func:`plan_redrive` counts what would be sent, and :func:`start_redrive`
sends the letters up to the ends that the plan has seen, at a rate.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from barnabas.administration.dead_letter import Origin, headers_again
from barnabas.console.access.catalog import all_topics, topic
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.dead_letters import (
    SORTED_LETTERS_MAX,
    bounds_of,
    dead_letter_topics,
    newest_letters,
    read_all,
    redriven_to,
    sent_positions,
)
from barnabas.console.access.offsets import bounds
from barnabas.console.access.redriving import (
    RATE_MAX,
    Outgoing,
    RedriveJob,
    RedriveJobs,
    ensure_positions_topic,
    open_producer,
    send_batch,
)
from barnabas.console.access.shown_records import ShownRecord, shown
from barnabas.console.core.dead_letters import (
    Letter,
    LetterState,
    ReasonCount,
    RedrivePlan,
    Selection,
    by_reason,
    letters_of,
    state_of,
)
from barnabas.console.core.decoding.detection import SHOWN_CHARACTERS_MAX
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.core.positions import positions_text, read_positions
from barnabas.console.core.record_request import FORMATS, NewRecord, read_bytes, read_headers
from barnabas.console.core.topic import Topic, TopicPartition
from barnabas.console.errors import BadValue
from barnabas.console.limits import BODY_BYTES_MAX
from barnabas.console.views.records import read_one
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter

# The longest that a dry run reads; a topic with more letters is redriven in parts.
PLAN_SECONDS_MAX: Final = 20.0


@dataclass(frozen=True, slots=True)
class LetterTopic:
    name: str
    known_by: str
    letters_max: int | None
    """Offsets between the ends."""


@dataclass(frozen=True, slots=True)
class LetterTopics:
    search: str
    page: Page[LetterTopic]


@dataclass(frozen=True, slots=True)
class ShownLetter:
    record: ShownRecord
    origin: Origin
    kind: str
    state: LetterState


@dataclass(frozen=True, slots=True)
class LetterList:
    topic: str
    reason: str
    source: str
    state: str
    read: int
    """Letters that were sorted: the newest ones."""
    reasons: list[ReasonCount]
    page: Page[ShownLetter]
    problems: list[str]
    job: RedriveJob | None


@dataclass(frozen=True, slots=True)
class LetterView:
    topic: str
    letter: ShownLetter
    key: str
    key_format: str
    value: str
    value_format: str
    headers: str
    """As a form has them for the record that is sent again."""


@dataclass(frozen=True, slots=True)
class Redrive:
    topic: str
    reason: str
    source: str
    attempts_max: int | None
    letters: list[str]
    total: int
    """Letters that would be sent."""
    to: dict[str, int]
    reasons: dict[str, int]
    left: int
    repeats: int
    stuck: int
    missing_topics: list[str]
    """Topics that letters would return to, and that are gone."""
    until: str
    """Where the plan ends; letters behind it wait for the next redrive."""
    is_complete: bool
    job: RedriveJob | None
    problems: list[str] = field(default_factory=list)


async def list_topics(call: Call) -> LetterTopics:
    client, search = call.cluster, call.text("search")
    known = await dead_letter_topics(client)
    page = page_of(matching(known, search, lambda each: each), call.number("page"), call.number("size"))
    topics = await all_topics(client)
    ends = await bounds(client, [topics[each] for each in page.items if each in topics])
    rows = []
    for name in page.items:
        those = [TopicPartition(name, each.id) for each in topics[name].partitions] if name in topics else []
        letters = sum(ends[each].end - ends[each].start for each in those if each in ends)
        rows.append(LetterTopic(name, known[name], letters if all(each in ends for each in those) else None))
    return LetterTopics(search, Page(rows, page.number, page.pages, page.size, page.total))


async def list_letters(call: Call) -> LetterList:
    client, name = call.cluster, call.text("topic")
    reason, source, state = call.text("reason"), call.text("source"), call.text("state")
    found = await topic(client, name)
    (letters, problems), sent, done = await asyncio.gather(
        newest_letters(client, found), sent_positions(client, name), redriven_to(client, name)
    )
    states = [(each, state_of(each, sent, done)) for each in letters]
    selection = Selection(reason, source)
    chosen = [(each, one) for each, one in states if selection.takes(each) and state in ("", one)]
    page = page_of(chosen, call.number("page"), call.number("size"))
    items = await client.run(_shown, page.items, client)
    return LetterList(
        name,
        reason,
        source,
        state,
        len(letters),
        by_reason(states),
        Page(items, page.number, page.pages, page.size, page.total),
        problems,
        client.remembered(RedriveJobs).find(name),
    )


def _shown(letters: list[tuple[Letter, LetterState]], client: ClusterClient) -> list[ShownLetter]:
    return [ShownLetter(shown(each.record, client.decoder), each.origin, each.kind, state) for each, state in letters]


async def show_letter(call: Call) -> LetterView:
    import base64

    client, name = call.cluster, call.text("topic")
    letter = await _letter(call)
    state = state_of(letter, await sent_positions(client, name), await redriven_to(client, name))
    record = await client.run(shown, letter.record, client.decoder, characters_max=SHOWN_CHARACTERS_MAX, indent=2)
    fields = []
    for part, data in ((record.key, letter.record.key), (record.value, letter.record.value)):
        as_text = part.format in ("json", "text") and not part.is_cut
        fields += [part.text, part.format] if as_text else [base64.b64encode(data or b"").decode(), "null" if data is None else "base64"]
    own = headers_again(letter.record.headers, letter.origin.attempts)[:-1]
    headers = "\n".join(each if value is None else f"{each}={value.decode('utf-8', 'replace')}" for each, value in own)
    return LetterView(name, ShownLetter(record, letter.origin, letter.kind, state), fields[0], fields[1], fields[2], fields[3], headers)


async def _letter(call: Call) -> Letter:
    record, _, _ = await read_one(call)
    found = letters_of([record])
    if not found or record.offset != int(call.path["offset"]):
        raise BadValue(f"{record.topic}/{record.partition}/{call.path['offset']} is no dead letter: it has no headers of one.")
    return found[0]


async def redrive_letter(call: Call) -> Changed:
    """One letter, as it is or edited."""
    client, name = call.cluster, call.text("topic")
    letter = await _letter(call)
    position = letter.origin.position
    if position is None:
        raise BadValue("The letter has no topic to return to.")
    record = letter.again()
    if call.flag("edited"):
        own = [*read_headers(call.text("headers")), record.headers[-1]]
        key, value = (read_bytes(call.text(part), call.text(f"{part}_format"), part) for part in ("key", "value"))
        record = NewRecord(key, value, own)
    elif not letter.can_return:
        raise BadValue("The letter has no copy of its record; edit it, or set errors.deadletterqueue.copy.record.enable of the group.")
    await topic(client, position.topic)
    await ensure_positions_topic(client, name)
    producer = await client.run(open_producer, client, name)
    # After the producer, which has ended the transaction of any other redrive.
    if not call.flag("repeat") and state_of(letter, await sent_positions(client, name), {}) is LetterState.DONE:
        raise BadValue("The record of this letter was sent again already; choose to repeat it.", "repeat")
    await client.run(send_batch, producer, name, [Outgoing(position.topic, record, position)])
    return Changed(f"The record is in topic {position.topic} again.", call.url("dead-letters", name))


async def plan_redrive(call: Call) -> Redrive:
    client, name = call.cluster, call.text("topic")
    found = await topic(client, name)
    plan, starts, ends = await _planned(call, client, found)
    positions, problems, began, complete = dict(starts), list[str](), time.monotonic(), True
    async for part in read_all(client, found, starts, ends):
        plan.take(letters_of(part.records))
        positions, problems = part.positions, problems + part.problems
        if time.monotonic() - began > PLAN_SECONDS_MAX:
            complete = all(positions[each] >= end for each, end in ends.items() if each in positions)
            break
    topics = await all_topics(client)
    return Redrive(
        name,
        call.text("reason"),
        call.text("source"),
        call.optional_number("attempts_max"),
        call.texts("letters"),
        sum(plan.to.values()),
        dict(sorted(plan.to.items())),
        dict(sorted(plan.reasons.items(), key=lambda each: -each[1])),
        plan.left,
        plan.repeats,
        plan.stuck,
        [each for each in plan.to if each not in topics],
        positions_text({each: min(positions.get(each, end), end) for each, end in ends.items()}) or "",
        complete,
        client.remembered(RedriveJobs).find(name),
        problems,
    )


async def start_redrive(call: Call) -> Changed:
    client, name = call.cluster, call.text("topic")
    found = await topic(client, name)
    plan, starts, ends = await _planned(call, client, found)
    until = read_positions(call.text("until"))
    ends = {each: min(end, until.get(each, end)) for each, end in ends.items()}
    client.remembered(RedriveJobs).start(client, found, plan, starts, ends, rate=call.number("rate"), total=call.number("total"))
    return Changed(f"The redrive of {name} is running.", call.url("dead-letters", name))


async def stop_redrive(call: Call) -> Changed:
    name = call.text("topic")
    call.cluster.remembered(RedriveJobs).stop(name)
    return Changed(f"The redrive of {name} stops after its current transaction.", call.url("dead-letters", name))


async def _planned(call: Call, client: ClusterClient, found: Topic) -> tuple[RedrivePlan, dict[int, int], dict[int, int]]:
    done, sent, limits = await asyncio.gather(redriven_to(client, found.name), sent_positions(client, found.name), bounds_of(client, found))
    places = frozenset((partition, offset) for each in call.texts("letters") for partition, offset in read_positions(each).items())
    selection = Selection(call.text("reason"), call.text("source"), call.optional_number("attempts_max"), places)
    starts = {each: min(max(one.start, done.get(each, 0)), one.end) for each, one in limits.items()}
    ends = {each: one.end for each, one in limits.items()}
    if places:
        # Nothing outside of the chosen letters is read.
        offsets = {each: [offset for one, offset in places if one == each] for each, _ in places}
        starts = {each: max(start, min(offsets[each])) for each, start in starts.items() if each in offsets}
        ends = {each: min(ends[each], 1 + max(offsets[each])) for each in starts}
    return RedrivePlan(selection, sent, done, {}, {}), starts, ends


_CHOICE: Final = (
    Parameter("reason", "Only letters of this reason, as the list groups them.", default=""),
    Parameter("source", "Only letters from this topic.", default=""),
    Parameter("attempts_max", "Only letters that were sent again fewer times.", int, minimum=1),
    Parameter("letters", "Only these letters: partition:offset each.", list),
)

OPERATIONS: Final = (
    view(
        "list_dead_letter_topics",
        "/clusters/{cluster}/dead-letters",
        list_topics,
        summary="Topics of dead letters.",
        page="dead_letters/topics.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    view(
        "list_dead_letters",
        "/clusters/{cluster}/dead-letters/{topic}",
        list_letters,
        summary=f"The newest {SORTED_LETTERS_MAX} letters of a topic, and how often each reason is among them.",
        page="dead_letters/list.html",
        parameters=(
            Parameter("reason", "Only letters of this reason.", default=""),
            Parameter("source", "Only letters from this topic.", default=""),
            Parameter("state", "Only letters in this state.", default="", choices=("", *LetterState)),
            PAGE,
            SIZE,
        ),
    ),
    view(
        "plan_redrive",
        "/clusters/{cluster}/dead-letters/{topic}/redrive",
        plan_redrive,
        summary="What a redrive would send; nothing is sent.",
        page="dead_letters/redrive.html",
        parameters=_CHOICE,
    ),
    view(
        "show_dead_letter",
        "/clusters/{cluster}/dead-letters/{topic}/letters/{partition}/{offset}",
        show_letter,
        summary="One dead letter: its record, its origin and its reason.",
        page="dead_letters/show.html",
    ),
    change(
        "start_redrive",
        "/clusters/{cluster}/dead-letters/{topic}/redrive",
        start_redrive,
        summary="Send letters to their topics again, each source record once.",
        parameters=(
            *_CHOICE,
            Parameter("until", "Where the plan ended: partition:offset, separated by commas.", required=True, maximum=20_000),
            Parameter("rate", "Letters a second.", int, 100, minimum=1, maximum=RATE_MAX),
            Parameter("total", "Letters of the plan, for the progress.", int, 0, minimum=0),
        ),
    ),
    change(
        "stop_redrive",
        "/clusters/{cluster}/dead-letters/{topic}/redrive/stop",
        stop_redrive,
        summary="Stop a redrive after its current transaction.",
    ),
    change(
        "redrive_letter",
        "/clusters/{cluster}/dead-letters/{topic}/letters/{partition}/{offset}/redrive",
        redrive_letter,
        summary="Send the record of one letter to its topic again, edited or as it is.",
        parameters=(
            Parameter("edited", "Whether key, value and headers are those given here.", bool, False),
            Parameter("key", "The key.", default="", maximum=BODY_BYTES_MAX, secret=True),
            Parameter("key_format", "How the key is written.", default="null", choices=FORMATS[:-1]),
            Parameter("value", "The value.", default="", maximum=BODY_BYTES_MAX, secret=True),
            Parameter("value_format", "How the value is written.", default="text", choices=FORMATS[:-1]),
            Parameter("headers", "Headers, a line name=value each.", default="", maximum=100_000, secret=True),
            Parameter("repeat", "Send a record again that was sent again already.", bool, False),
        ),
    ),
)
