"""The registry as its endpoints see it: reads from the state, and writes that the leader makes.

Writes run one after the other. Each decides on a state that has everything written before it, so
two clients that register at once never get one id for two schemas. A write that fails may have
reached the topic all the same, so this instance stops leading with it. Only the next term, which
begins after the whole topic is replayed, decides again; decisions of an earlier term are refused.

Parsing and comparing schemas runs on threads, beside the event loop. A *quick* thread does it
within a budget of steps. Work that takes more, up to seconds for a hostile schema, runs on a *slow*
thread, where it holds no other request: a write leaves its turn for that time, and decides again
with the verdict at hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

from barnabas.registry.core.decision import Decision
from barnabas.registry.core.entries import Entry
from barnabas.registry.core.errors import NothingWritten, no_leader
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.state import RegistryState
from barnabas.schemas.errors import OutOfSteps
from barnabas.schemas.steps import Steps

# About 80 ms, which is how long one request can hold the others.
QUICK_STEPS_MAX: Final = 4_000
# How often a write leaves its turn before it keeps it: each time, another write may have changed
# the versions that it is compared with.
PREPARATIONS_MAX: Final = 3

R = TypeVar("R")


class EntryWriter(Protocol):
    """Writes during one term of this instance as the leader."""

    async def write(self, entries: Sequence[Entry]) -> None:
        """Returns when the entries are replayed. Raises :class:`NothingWritten` if they certainly
        never will be; after any other error they may be."""

    def give_up(self) -> None:
        """End the term, so that another one can begin."""


class RegistryService:
    def __init__(self, state: RegistryState, *, cluster_id: str = "", group_id: str = "schema-registry") -> None:
        self.state = state
        self.cluster_id = cluster_id
        self.group_id = group_id
        self.parsed = ParsedSchemas(state)
        self._writer: EntryWriter | None = None
        self._turn = asyncio.Lock()
        self._quick = ThreadPoolExecutor(1, "registry-quick")
        self._slow = ThreadPoolExecutor(1, "registry-slow")

    def lead(self, writer: EntryWriter | None) -> None:
        """Begin to write, or stop with None. Each term has a writer of its own."""
        self._writer = writer

    @property
    def is_leader(self) -> bool:
        return self._writer is not None

    async def think(self, work: Callable[[ParsedSchemas], R]) -> R:
        """Run work that parses schemas."""
        try:
            return await self._think_quickly(work)
        except OutOfSteps:
            return await self._think_long(work)

    async def _think_quickly(self, work: Callable[[ParsedSchemas], R]) -> R:
        """Raises :class:`OutOfSteps` for work that takes longer."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work, self.parsed.within(Steps(QUICK_STEPS_MAX)))

    async def _think_long(self, work: Callable[[ParsedSchemas], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._slow, work, self.parsed)

    def stop(self) -> None:
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._slow.shutdown(wait=False, cancel_futures=True)

    async def write(self, decide: Callable[[ParsedSchemas], Decision[R]]) -> R:
        """Make a decision, and return its answer once its records are written. Only on the
        leader."""
        for _ in range(PREPARATIONS_MAX):
            async with self._turn:
                term = self._writer
                try:
                    return await self._written(term, await self._think_quickly(decide))
                except OutOfSteps:
                    pass
            # The decision is made for what it leaves behind: schemas that are parsed, and verdicts.
            # Meanwhile others may write, so it counts only if it refuses.
            await self._think_long(decide)
        async with self._turn:
            term = self._writer
            return await self._written(term, await self._think_long(decide))

    async def _written(self, term: EntryWriter | None, decision: Decision[R]) -> R:
        """``term`` is the writer of the time at which the decision began."""
        if decision.entries:
            if term is None or term is not self._writer:
                # This instance led when the request came, and an election has begun since. The
                # state of the decision may lack what other leaders wrote.
                raise no_leader()
            await self._append(term, decision.entries)
        return decision.answer

    async def _append(self, writer: EntryWriter, entries: Sequence[Entry]) -> None:
        try:
            await writer.write(entries)
        except NothingWritten:
            raise
        except BaseException:
            # Before anything else runs: a write that waits for its turn would decide on a state
            # that may lack these entries.
            if self._writer is writer:
                self.lead(None)
                writer.give_up()
            raise
