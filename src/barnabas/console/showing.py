"""Pages around an answer: navigation, the principal, notices, and errors."""

from __future__ import annotations

from typing import Any

from barnabas.console.catalogue import SECTIONS
from barnabas.console.errors import ConsoleError
from barnabas.console.services import Services
from barnabas.console.web.call import Call
from barnabas.console.web.pages import render
from barnabas.console.web.sessions import Session


def shown_page(call: Call, model: Any) -> str:
    assert call.operation.page is not None
    return render(call.operation.page, model=model, call=call, **_surroundings(call.services, call, call.session))


def error_page(services: Services, call: Call | None, session: Session, error: ConsoleError) -> str:
    return render("error.html", error=error, call=call, **_surroundings(services, call, session))


def _surroundings(services: Services, call: Call | None, session: Session) -> dict[str, Any]:
    cluster = services.settings.cluster(call.cluster_name) if call is not None else None
    # The notice is for the page that follows the change, and not for a part that loads by itself.
    is_part = call is not None and "hx-request" in call.request.headers
    login = session.logins.get(cluster.name) if cluster is not None else next(iter(session.logins.values()), None)
    return {
        "settings": services.settings,
        "cluster": cluster,
        "clusters": services.settings.clusters,
        "sections": SECTIONS,
        "section": call.operation.section if call is not None else "",
        "csrf_token": services.signer.token(session.id) if session.id else "",
        "notices": [] if is_part else session.take_notices(),
        "principal": login.principal if login is not None else session.identity.principal if session.identity is not None else None,
        "may_change": cluster is not None and not services.settings.read_only and not cluster.read_only,
    }
