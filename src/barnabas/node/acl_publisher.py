"""Gives the rules of the metadata log to :class:`~barnabas.api.access.Access`."""

from __future__ import annotations

from barnabas.api.access import Access
from barnabas.config.settings import BrokerSettings
from barnabas.metadata.acls import rule_of
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.cannot_start import CannotStart
from barnabas.security.acls.authorizer import Authorizer
from barnabas.security.principal import parse_principals
from barnabas.telemetry.logs import EventLog


def access_of(settings: BrokerSettings, log: EventLog) -> Access:
    """Raises ``CannotStart``: a node must not run without the protection that it was asked for."""
    if not settings.text_or_none("authorizer.class.name"):
        return Access(None, log)
    try:
        super_users = parse_principals(settings.text_or_none("super.users") or "")
    except ValueError as error:
        raise CannotStart(f"super.users cannot be read: {error}.") from error
    allow_if_no_acl = settings.flag("allow.everyone.if.no.acl.found")
    return Access(Authorizer(super_users=[str(each) for each in super_users], allow_if_no_acl=allow_if_no_acl), log)


class AclPublisher:
    def __init__(self, access: Access) -> None:
        self._access = access

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if not self._access.enabled:
            return
        if delta.acls.changed:
            found = image.acls.by_id
            self._access.change((acl_id, rule_of(found[acl_id]) if acl_id in found else None) for acl_id in delta.acls.changed)
        self._access.become_ready()
