"""A setting that a group may have of its own, within bounds of the broker."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class BoundedSetting:
    name: str
    """The name among the group's own settings, such as ``share.session.timeout.ms``."""
    default: int
    """The value of the broker, for groups without an own one."""
    lowest: int
    highest: int

    def of(self, own: Mapping[str, str]) -> int:
        """The bounds may have been narrowed since the group got its setting."""
        return max(self.lowest, min(int(own.get(self.name, self.default)), self.highest))
