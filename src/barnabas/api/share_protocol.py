"""Whether this cluster serves share groups (KIP-932), and the ids that their members may have.

An operator may not have raised ``share.version`` yet.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.metadata.features import SHARE_VERSION

_SHARE_VERSION_MIN = 1
# Members choose their ids; a UUID as text has 36 characters.
MEMBER_ID_LENGTH_MAX = 36


def share_groups_are_served(broker: Broker) -> bool:
    return broker.metadata.image.features.level(SHARE_VERSION) >= _SHARE_VERSION_MIN


def is_member_id(member_id: str) -> bool:
    return 0 < len(member_id) <= MEMBER_ID_LENGTH_MAX
