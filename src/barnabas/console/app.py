"""The console as an ASGI application.

A request is checked (host, session, token), its operation is found and called, and the answer is
shown: as JSON below ``/api`` and for a script of a page, as a page otherwise. Errors take the same
two forms.
"""

from __future__ import annotations

import time
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from barnabas.console.access.identity_login import log_in_with_identity
from barnabas.console.access.identity_renewal import renew_identity
from barnabas.console.catalogue import OPERATIONS
from barnabas.console.errors import ConsoleError, Forbidden, LoginNeeded, NotFound
from barnabas.console.services import Services
from barnabas.console.settings import LoginMode
from barnabas.console.showing import error_page, shown_page
from barnabas.console.web.access_rules import check_change, check_token, log_in_with_basic
from barnabas.console.web.audit import outcome_of
from barnabas.console.web.bodies import read_body
from barnabas.console.web.call import Call, page_url
from barnabas.console.web.hosts import is_known_host
from barnabas.console.web.json_values import json_bytes
from barnabas.console.web.openapi import openapi_document
from barnabas.console.web.operation import Changed, Operation, Stream
from barnabas.console.web.parameters import read_values
from barnabas.console.web.proxy_login import take_identity_of_proxy
from barnabas.console.web.router import API, Router, split_path
from barnabas.console.web.security_headers import PRIVATE, SECURITY_HEADERS
from barnabas.console.web.sessions import Session
from barnabas.console.web.static_files import static_response

COOKIE: Final = "barnabas_console"
_SEE_OTHER: Final = 303


class ConsoleApp:
    def __init__(self, services: Services, operations: tuple[Operation, ...] = OPERATIONS) -> None:
        self._services = services
        self._operations = operations
        self._router = Router(operations)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        if scope["type"] != "http":
            return
        response = await self._answer(Request(scope, receive))
        await response(scope, receive, _with_security_headers(send))

    async def _answer(self, request: Request) -> Response:
        segments = split_path(request.scope.get("raw_path") or request.scope["path"].encode())
        settings = self._services.settings
        if not is_known_host(request.headers.get("host", ""), listens_on=settings.host, public_hosts=settings.public_hosts):
            return _plain_error(Forbidden("The console does not know this host name; name it in public_hosts."))
        if segments is None:
            return _plain_error(NotFound("The address cannot be read."))
        if segments[:1] == ("static",):
            return static_response("/".join(segments[1:])) or _plain_error(NotFound("There is no such file."))
        if segments == ("health",):
            return JSONResponse({"status": "healthy"})
        if not segments:
            return RedirectResponse("/clusters", _SEE_OTHER)
        is_api = segments[0] == API
        if segments == (API, "openapi.json"):
            return JSONResponse(openapi_document(self._operations))
        return await self._respond(request, segments[1:] if is_api else segments, is_api)

    async def _respond(self, request: Request, segments: tuple[str, ...], is_api: bool) -> Response:
        session, is_new = self._session(request, keeps=not is_api or segments == ("session",))
        as_json = is_api or "application/json" in request.headers.get("accept", "")
        method = "GET" if request.method == "HEAD" else request.method
        call: Call | None = None
        began = time.perf_counter()
        try:
            found = self._router.find(method, segments)
            if found is None or (not is_api and found[0].method == "GET" and found[0].page is None):
                raise NotFound("There is no such page." if not is_api else "There is no such operation; /api/openapi.json lists them.")
            call = Call(found[0], found[1], session, self._services, request, as_json=as_json)
            response = await self._called(call, is_api=is_api, as_json=as_json)
        except ConsoleError as error:
            response = self._refused(error, call, session, request, as_json=as_json)
        except Exception as bug:
            self._services.log.error("console request failed", path=request.url.path, exc_info=bug)
            broken = ConsoleError("The console has a bug; its log has the details.")
            response = self._refused(broken, call, session, request, as_json=as_json)
        # Only the request that logs in or out gets the cookie of the session that it made: another
        # one with the old id may be of a person who planted that id.
        answered = call.session if call is not None else session
        if is_new or answered is not session:
            self._set_cookie(response, answered)
        response.headers.update(PRIVATE)
        name = call.operation.name if call is not None else "none"
        self._services.metrics.answered(name, response.status_code, time.perf_counter() - began)
        return response

    async def _called(self, call: Call, *, is_api: bool, as_json: bool) -> Response:
        operation = call.operation
        if is_api:
            await log_in_with_basic(call)
        if call.basic_login is None:
            if operation.needs_session:
                await renew_identity(call)
            self._check_session(call)
            call.logins = dict(call.session.logins)
            if call.session.identity is not None:
                await log_in_with_identity(call, call.session.identity)
        given: dict[str, Any] = {}
        if operation.method == "GET":
            for name in call.request.query_params:
                values = call.request.query_params.getlist(name)
                given[name] = values[0] if len(values) == 1 else values
        else:
            given = await read_body(call.request)
            check_token(call, given)
        if not operation.changes:
            call.values = read_values(operation.parameters, given)
            return self._shown(call, await operation.function(call), as_json=as_json)
        return await self._changed(call, given, as_json=as_json)

    async def _changed(self, call: Call, given: dict[str, Any], *, as_json: bool) -> Response:
        outcome = "done"
        try:
            call.values = read_values(call.operation.parameters, given)
            check_change(call)
            return self._shown(call, await call.operation.function(call), as_json=as_json)
        except ConsoleError as error:
            outcome = outcome_of(call.operation, error)
            raise
        finally:
            self._services.audit.write(
                call.operation,
                {**call.path, **call.values},
                principal=call.principal,
                address=call.address,
                agent=call.request.headers.get("user-agent", ""),
                cluster=call.cluster_name,
                outcome=outcome,
            )

    def _shown(self, call: Call, answer: Any, *, as_json: bool) -> Response:
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, Stream):
            headers = {} if answer.file_name is None else {"Content-Disposition": f'attachment; filename="{answer.file_name}"'}
            return StreamingResponse(answer.content, media_type=answer.media_type, headers=headers)
        if isinstance(answer, Changed):
            from_page = not call.request.url.path.startswith(f"/{API}/")
            if from_page:
                call.session.notice(answer.done)
            if not as_json:
                return RedirectResponse(answer.location, _SEE_OTHER)
        if as_json:
            return Response(json_bytes(answer), media_type="application/json")
        return _page(shown_page(call, answer))

    def _refused(self, error: ConsoleError, call: Call | None, session: Session, request: Request, *, as_json: bool) -> Response:
        if as_json:
            body = {"error": error.sentence, "status": error.status, "parameter": getattr(error, "parameter", None)}
            return Response(json_bytes(body), error.status, media_type="application/json")
        if isinstance(error, LoginNeeded):
            came_from = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return RedirectResponse(page_url("login", cluster=error.cluster, next=came_from), _SEE_OTHER)
        return _page(error_page(self._services, call, session, error), error.status)

    # -- sessions ----------------------------------------------------------------------------------

    def _check_session(self, call: Call) -> None:
        settings = self._services.settings
        if not call.operation.needs_session or settings.login is LoginMode.NONE:
            return
        if settings.login is LoginMode.HEADER:
            take_identity_of_proxy(call)
        if not call.session.logins and call.session.identity is None:
            raise LoginNeeded("The console wants a login.", call.cluster_name or settings.clusters[0].name)

    def _session(self, request: Request, *, keeps: bool) -> tuple[Session, bool]:
        """The session of the cookie, or a new one. A program that only reads gets one that is not
        kept."""
        session_id = self._cookie_id(request)
        session = self._services.sessions.find(session_id) if session_id is not None else None
        if session is not None:
            return session, False
        return (self._services.sessions.start(), True) if keeps else (Session("", 0.0, 0.0), False)

    def _cookie_id(self, request: Request) -> str | None:
        cookie = request.cookies.get(COOKIE)
        return self._services.signer.session_id(cookie) if cookie is not None else None

    def _set_cookie(self, response: Response, session: Session) -> None:
        if session.id:
            settings = self._services.settings
            # A proxy may have the certificate; the address of the login tells.
            secure = settings.scheme == "https" or (settings.oidc is not None and settings.oidc.redirect_url.startswith("https://"))
            response.set_cookie(COOKIE, self._services.signer.cookie(session.id), httponly=True, samesite="lax", secure=secure, path="/")


def _page(html: str, status: int = 200) -> Response:
    # Whatever reaches a page, halves of surrogate pairs included, must not make it fail.
    return Response(html.encode("utf-8", "backslashreplace"), status, media_type="text/html")


def _plain_error(error: ConsoleError) -> Response:
    return Response(error.sentence, error.status, media_type="text/plain")


def _with_security_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *((name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items())]
        await send(message)

    return sending


async def _live(receive: Receive, send: Send) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return
