"""A disk in memory that drops, in a power cut, everything that the port does not promise.

Programs see one state and the medium holds another, for files and for directories alike:

===============  ====================  ============================  ============================
                 seen by programs      durable                       in between
===============  ====================  ============================  ============================
file             ``_Inode.content``    ``_Inode.durable``            ``_Inode.unsynced``: edits
directory        ``_Directory.names``  ``_Directory.durable``        ``SimulatedDisk._changes``
made durable by  at once               ``sync``, ``sync_directory``
===============  ====================  ============================  ============================

:meth:`SimulatedDisk.crash` is the power cut. It leaves a new disk on which any subset of the edits
in between happened, in any order; a write may be torn at any byte, or have made the file longer and
left zeros or garbage there. Of the name changes any subset happened, each of them whole: a rename
that replaces a file shows the old file or the new one, never both or neither. This is the
pessimist's file system of ALICE (OSDI'14); a real one drops less, but differently on every machine.

:meth:`SimulatedDisk.kill` is the death of the process alone: its writes are in the page cache,
readable, and a later power cut may still drop them.

All randomness comes from the ``random.Random`` given, and everything runs on one thread. *Not*
simulated are time (an operation takes none) and descriptors (there is nothing to ``sendfile``
from).
"""

from __future__ import annotations

import errno as errors
import os
from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum
from random import Random
from typing import NamedTuple, TypeAlias, TypeVar

from barnabas.env.disk import FileReplaced, SyncFailed
from barnabas.model.buffers import Buffer

# A kernel writes dirty pages out by itself after a while. So does this one, which bounds its memory
# when no caller syncs.
UNSYNCED_EDITS_MAX = 4096
# For the message of a failed assertion: the last operations before the power cut.
REMEMBERED_OPERATIONS = 32
SECTOR_BYTES = 512

_Any = TypeVar("_Any")


class PowerCut(BaseException):
    """The power is cut. Not an ``Exception``: no handler in the code under test may survive it."""


class Operation(Enum):
    """Every operation that changes a disk, and ``READ``, which exists only for faults."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    RENAME = "rename"
    REMOVE = "remove"
    MAKE_DIRECTORY = "make directory"
    SYNC_DIRECTORY = "sync directory"
    READ = "read"


class _Write(NamedTuple):
    position: int
    data: bytes

    def apply(self, content: bytearray) -> None:
        if self.position > len(content):
            content += bytes(self.position - len(content))
        content[self.position : self.position + len(self.data)] = self.data


class _Truncate(NamedTuple):
    size_bytes: int

    def apply(self, content: bytearray) -> None:
        if self.size_bytes < len(content):
            del content[self.size_bytes :]
        else:
            content += bytes(self.size_bytes - len(content))


_Edit: TypeAlias = _Write | _Truncate


class _Inode:
    """A file without its name. Invariant: ``durable``, then ``lost`` and ``unsynced`` in order of
    writing, gives ``content``.
    """

    __slots__ = ("content", "durable", "lost", "unsynced")

    def __init__(self, content: Buffer = b"") -> None:
        self.content = bytearray(content)
        self.durable = bytearray(content)
        self.unsynced: deque[_Edit] = deque()
        # Edits whose sync failed: the kernel calls their pages clean now, so no later sync will
        # write them.
        self.lost: list[_Edit] = []

    def edit(self, edit: _Edit) -> None:
        edit.apply(self.content)
        self.unsynced.append(edit)
        if len(self.unsynced) > UNSYNCED_EDITS_MAX:
            self.unsynced.popleft().apply(self.durable)

    def sync(self) -> None:
        for edit in self.unsynced:
            edit.apply(self.durable)
        self.unsynced.clear()

    def fail_to_sync(self) -> None:
        self.lost += self.unsynced
        self.unsynced.clear()

    def copy(self) -> _Inode:
        """For the death of a process: everything stays as it was."""
        twin = _Inode()
        twin.content, twin.durable = bytearray(self.content), bytearray(self.durable)
        twin.unsynced, twin.lost = self.unsynced.copy(), self.lost.copy()
        return twin

    def after_power_cut(self, chance: Random) -> _Inode:
        content = bytearray(self.durable)
        for edit in _survivors(chance, [*self.lost, *self.unsynced]):
            if isinstance(edit, _Write):
                edit = _Write(edit.position, _torn(chance, edit.data))
            edit.apply(content)
        return _Inode(content)


class _Directory:
    __slots__ = ("durable", "names")

    def __init__(self) -> None:
        self.names: dict[str, _Node] = {}
        self.durable: dict[str, _Node] = {}


_Node: TypeAlias = _Inode | _Directory


class _NameChange(NamedTuple):
    """The effect of one system call on names, all of it or nothing: the directory, the name, and
    its new inode.
    """

    parts: tuple[tuple[_Directory, str, _Node | None], ...]

    def apply_durably(self) -> None:
        for directory, name, node in self.parts:
            _set_name(directory.durable, name, node)


def _set_name(names: dict[str, _Node], name: str, node: _Node | None) -> None:
    if node is None:
        names.pop(name, None)
    else:
        names[name] = node


def _survivors(chance: Random, items: Sequence[_Any]) -> list[_Any]:
    """The subset of unfinished changes that survives the power cut. The extremes are likely, since
    most bugs show there.
    """
    match chance.randrange(6):
        case 0:
            return []
        case 1:
            return list(items)
        case 2:
            return list(items[: chance.randint(0, len(items))])
        case 3:
            return list(items[chance.randint(0, len(items)) :])
        case 4:
            return [item for item in items if chance.random() < 0.5]
        case _:
            return chance.sample(items, chance.randint(0, len(items)))


def _torn(chance: Random, data: bytes) -> bytes:
    """A write as a power cut may leave it: whole, cut off, or with its size on the disk and its
    bytes not.
    """
    cut = chance.randint(0, len(data))
    match chance.randrange(8):
        case 0:
            return data[:cut]
        case 1:
            return data[:cut] + bytes(len(data) - cut)
        case 2:
            return bytes(cut) + data[cut:]
        case 3:
            return data[:cut] + chance.randbytes(len(data) - cut)
        case 4:
            return b"".join(
                data[start : start + SECTOR_BYTES] if chance.random() < 0.5 else bytes(len(data[start : start + SECTOR_BYTES]))
                for start in range(0, len(data), SECTOR_BYTES)
            )
        case _:
            return data


class _Fault:
    """Operations that fail, until they are allowed again or ``times`` have failed."""

    __slots__ = ("errno", "operations", "path_part", "skipped", "times")

    def __init__(self, errno: int, operations: frozenset[Operation], path_part: str, skipped: int, times: int | None) -> None:
        self.errno = errno
        self.operations = operations
        self.path_part = path_part
        self.skipped = skipped
        self.times = times

    def strikes(self, operation: Operation, path: str) -> bool:
        if self.times == 0 or operation not in self.operations or self.path_part not in path:
            return False
        if self.skipped:
            self.skipped -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


class _SimulatedHold(NamedTuple):
    """An inode that stays readable when its name is removed or replaced."""

    disk: SimulatedDisk
    path: str
    inode: _Inode

    def descriptor(self) -> int:
        raise OSError(errors.EBADF, "a simulated file has no descriptor: read the region instead", self.path)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        self.disk.check_power()
        self.disk.raise_injected_fault(Operation.READ, self.path)
        return bytes(self.inode.content[position : position + size_bytes])


class SimulatedFile:
    """Like a real file it keeps its inode while open, whatever happens to the name, and when closed
    finds it by name again.
    """

    __slots__ = ("_disk", "_identity", "_inode", "path")

    def __init__(self, disk: SimulatedDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._inode: _Inode | None = inode
        self._identity = inode
        self.path = path

    def _opened(self) -> _Inode:
        self._disk.check_power()
        if self._inode is None:
            found = self._disk.inode(self.path)
            if found is not self._identity:
                raise FileReplaced(self.path)
            self._inode = found
        return self._inode

    def size_bytes(self) -> int:
        return len(self._opened().content)

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return self.hold().read_at(position, size_bytes)

    def write_at(self, position: int, data: Buffer) -> None:
        inode = self._opened()
        try:
            self._disk.before_change(Operation.WRITE, self.path, f"{len(data)} bytes at {position}")
        except OSError:
            # A full disk accepts the beginning of the last write.
            inode.edit(_Write(position, bytes(data[: self._disk.chance.randint(0, len(data))])))
            raise
        if len(data):
            inode.edit(_Write(position, bytes(data)))

    def truncate(self, size_bytes: int) -> None:
        inode = self._opened()
        self._disk.before_change(Operation.TRUNCATE, self.path, f"to {size_bytes}")
        if size_bytes != len(inode.content):
            inode.edit(_Truncate(size_bytes))

    def sync(self) -> None:
        inode = self._opened()
        try:
            self._disk.before_change(Operation.SYNC, self.path)
        except OSError:
            inode.fail_to_sync()
            raise
        inode.sync()

    def close(self) -> None:
        self._inode = None

    def hold(self) -> _SimulatedHold:
        return _SimulatedHold(self._disk, self.path, self._opened())

    def hold_if_open(self) -> _SimulatedHold | None:
        return None if self._inode is None else self.hold()

    def moved_to(self, path: str) -> None:
        self.path = path


class SimulatedLock:
    def __init__(self, held: set[str], path: str) -> None:
        self._held = held
        self._path = path
        held.add(path)

    def release(self) -> None:
        self._held.discard(self._path)


class SimulatedDisk:
    """See the module. ``operations`` counts the operations since the disk was made; ``recent``
    describes the last of them.
    """

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self.operations = 0
        self.recent: deque[str] = deque(maxlen=REMEMBERED_OPERATIONS)
        self._root = _Directory()
        self._changes: deque[_NameChange] = deque()
        self._faults: list[_Fault] = []
        self._locks: set[str] = set()
        self._cut_at: int | None = None
        self._dark = False

    # -- power cuts

    def crash_after(self, operations: int) -> None:
        """From now on, the operation of this number (from 1) is not performed: it and all that
        follow raise ``PowerCut``.
        """
        assert operations >= 1
        self._cut_at = self.operations + operations

    def crash_never(self) -> None:
        """Cancels :meth:`crash_after`."""
        self._cut_at = None

    def power_off(self) -> None:
        """No operation is possible any more: a process that had files open is dead, and must not
        find out by writing.
        """
        self._dark = True

    def crash(self) -> SimulatedDisk:
        """A disk as the power cut may leave it, everything on it durable. Each call gives another
        one.
        """
        survivor = SimulatedDisk(Random(self.chance.getrandbits(64)))
        made: dict[int, _Node] = {}

        def remains(node: _Node) -> _Node:
            known = made.get(id(node))
            if known is not None:
                return known
            if isinstance(node, _Inode):
                made[id(node)] = inode = node.after_power_cut(self.chance)
                return inode
            made[id(node)] = directory = _Directory()
            directory.names = {name: remains(child) for name, child in node.durable.items()}
            return directory

        root = remains(self._root)
        assert isinstance(root, _Directory)
        survivor._root = root
        kept = {id(change) for change in _survivors(self.chance, list(self._changes))}
        for change in self._changes:
            # In order of creation, whichever subset it is: the later of two uses of a name wins.
            if id(change) in kept:
                for parent, name, node in change.parts:
                    directory = remains(parent)
                    assert isinstance(directory, _Directory)
                    _set_name(directory.names, name, None if node is None else remains(node))
        for each in made.values():
            if isinstance(each, _Directory):
                each.durable = dict(each.names)
        return survivor

    def kill(self) -> SimulatedDisk:
        """The disk as the next process finds it. Open files, locks and faults are gone; unsynced
        data is still not durable.
        """
        survivor = SimulatedDisk(Random(self.chance.getrandbits(64)))
        made: dict[int, _Node] = {}

        def copied(node: _Node) -> _Node:
            known = made.get(id(node))
            if known is not None:
                return known
            if isinstance(node, _Inode):
                made[id(node)] = inode = node.copy()
                return inode
            made[id(node)] = directory = _Directory()
            directory.names = {name: copied(child) for name, child in node.names.items()}
            directory.durable = {name: copied(child) for name, child in node.durable.items()}
            return directory

        def copied_part(parent: _Directory, name: str, node: _Node | None) -> tuple[_Directory, str, _Node | None]:
            directory = copied(parent)
            assert isinstance(directory, _Directory)
            return directory, name, None if node is None else copied(node)

        root = copied(self._root)
        assert isinstance(root, _Directory)
        survivor._root = root
        survivor._changes = deque(_NameChange(tuple(copied_part(*part) for part in change.parts)) for change in self._changes)
        return survivor

    # -- faults

    def fail_with(
        self, errno: int, operations: Iterable[Operation], *, path_part: str = "", after: int = 0, times: int | None = None
    ) -> None:
        """Such operations on paths that contain ``path_part`` raise ``OSError(errno)``, once
        ``after`` of them succeeded.
        """
        self._faults.append(_Fault(errno, frozenset(operations), path_part, after, times))

    def stop_failing(self) -> None:
        self._faults.clear()

    def flip_bit(self, path: str, position: int, bit: int = 0) -> None:
        """Corruption: flip one bit of a file, on the medium and in the cache."""
        inode = self.inode(path)
        for content in (inode.content, inode.durable):
            if position < len(content):
                content[position] ^= 1 << bit

    # -- the port

    def open(self, path: str) -> SimulatedFile:
        self.check_power()
        parent, name = self._parent(path)
        node = parent.names.get(name)
        if node is None:
            self.before_change(Operation.CREATE, path)
            node = _Inode()
            self._change((parent, name, node))
        if isinstance(node, _Directory):
            raise IsADirectoryError(errors.EISDIR, os.strerror(errors.EISDIR), path)
        return SimulatedFile(self, path, node)

    def exists(self, path: str) -> bool:
        self.check_power()
        return self._find(path) is not None

    def names(self, directory: str) -> list[str]:
        self.check_power()
        return sorted(self._directory(directory).names)

    def is_directory(self, path: str) -> bool:
        self.check_power()
        return isinstance(self._find(path), _Directory)

    def make_directory(self, path: str) -> None:
        self.check_power()
        parent = self._root
        for name in _split(path):
            node = parent.names.get(name)
            if node is None:
                self.before_change(Operation.MAKE_DIRECTORY, path)
                node = _Directory()
                self._change((parent, name, node))
            if isinstance(node, _Inode):
                raise NotADirectoryError(errors.ENOTDIR, os.strerror(errors.ENOTDIR), path)
            parent = node

    def read(self, path: str) -> bytes:
        self.check_power()
        self.raise_injected_fault(Operation.READ, path)
        return bytes(self.inode(path).content)

    def read_range(self, path: str, position: int, size_bytes: int) -> bytes:
        self.check_power()
        self.raise_injected_fault(Operation.READ, path)
        return bytes(self.inode(path).content[position : position + size_bytes])

    def size_bytes(self, path: str) -> int:
        self.check_power()
        return len(self.inode(path).content)

    def rename(self, source: str, target: str) -> None:
        self.check_power()
        source_parent, source_name = self._parent(source)
        target_parent, target_name = self._parent(target)
        node = source_parent.names.get(source_name)
        if node is None:
            raise FileNotFoundError(errors.ENOENT, os.strerror(errors.ENOENT), source)
        replaced = target_parent.names.get(target_name)
        if isinstance(replaced, _Directory) or (isinstance(node, _Directory) and replaced is not None):
            raise OSError(errors.ENOTEMPTY, os.strerror(errors.ENOTEMPTY), target)
        self.before_change(Operation.RENAME, source, f"to {target}")
        self._change((source_parent, source_name, None), (target_parent, target_name, node))

    def remove(self, path: str) -> None:
        self.check_power()
        parent, name = self._parent(path)
        if name in parent.names:
            self.before_change(Operation.REMOVE, path)
            self._change((parent, name, None))

    def remove_directory(self, path: str) -> None:
        self.check_power()
        for name in self._directory(path).names.copy():
            child = f"{path}/{name}"
            if self.is_directory(child):
                self.remove_directory(child)
            else:
                self.remove(child)
        self.remove(path)

    def sync_directory(self, path: str) -> None:
        self.check_power()
        directory = self._directory(path)
        self.before_change(Operation.SYNC_DIRECTORY, path)
        waiting = deque(self._changes)
        self._changes.clear()
        for change in waiting:
            if any(touched is directory for touched, _, _ in change.parts):
                change.apply_durably()
            else:
                self._changes.append(change)

    def lock(self, path: str) -> SimulatedLock | None:
        if path in self._locks:
            return None
        self.open(path)
        return SimulatedLock(self._locks, path)

    # -- inside

    def check_power(self) -> None:
        if self._dark:
            raise PowerCut

    def before_change(self, operation: Operation, path: str, details: str = "") -> None:
        """Every change to the disk passes here, to be counted, cut off or failed."""
        self.check_power()
        self.operations += 1
        self.recent.append(f"{self.operations} {operation.value} {path} {details}".rstrip())
        if self.operations == self._cut_at:
            self._dark = True
            raise PowerCut(f"before operation {self.recent[-1]}")
        self.raise_injected_fault(operation, path)

    def raise_injected_fault(self, operation: Operation, path: str) -> None:
        for fault in self._faults:
            if fault.strikes(operation, path):
                kind = SyncFailed if operation in (Operation.SYNC, Operation.SYNC_DIRECTORY) else OSError
                raise kind(fault.errno, os.strerror(fault.errno), path)

    def _change(self, *parts: tuple[_Directory, str, _Node | None]) -> None:
        for directory, name, node in parts:
            _set_name(directory.names, name, node)
        self._changes.append(_NameChange(parts))
        if len(self._changes) > UNSYNCED_EDITS_MAX:
            self._changes.popleft().apply_durably()

    def _find(self, path: str) -> _Node | None:
        node: _Node | None = self._root
        for name in _split(path):
            if not isinstance(node, _Directory):
                return None
            node = node.names.get(name)
        return node

    def _directory(self, path: str) -> _Directory:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(errors.ENOENT, os.strerror(errors.ENOENT), path)
        if isinstance(node, _Inode):
            raise NotADirectoryError(errors.ENOTDIR, os.strerror(errors.ENOTDIR), path)
        return node

    def inode(self, path: str) -> _Inode:
        node = self._find(path)
        if node is None:
            raise FileNotFoundError(errors.ENOENT, os.strerror(errors.ENOENT), path)
        if isinstance(node, _Directory):
            raise IsADirectoryError(errors.EISDIR, os.strerror(errors.EISDIR), path)
        return node

    def _parent(self, path: str) -> tuple[_Directory, str]:
        *parents, name = _split(path)
        return self._directory("/".join(parents)), name


def _split(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
