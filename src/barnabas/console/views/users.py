"""Users with SCRAM credentials: the list, passwords, and removal. No view shows a secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from barnabas.console.access.user_login import CREDENTIAL_CHARACTERS_MAX
from barnabas.console.access.users import User, list_users, remove_credential, set_password
from barnabas.console.core.paging import Page, matching, page_of
from barnabas.console.errors import BadValue, NotFound
from barnabas.console.views.topics import PAGE, SEARCH, SIZE
from barnabas.console.web.call import Call
from barnabas.console.web.operation import Changed, change, view
from barnabas.console.web.parameters import Parameter
from barnabas.security.sasl.scram_credentials import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism

_MECHANISMS: Final = {each.title: each for each in ScramMechanism}
_DEFAULT: Final = ScramMechanism.SHA_512.title


@dataclass(frozen=True, slots=True)
class UserList:
    search: str
    page: Page[User]
    mechanisms: list[str]


async def show_users(call: Call) -> UserList:
    found = matching(await list_users(call.cluster), call.text("search"), lambda each: each.name)
    return UserList(call.text("search"), page_of(found, call.number("page"), call.number("size")), list(_MECHANISMS))


async def set_user_password(call: Call) -> Changed:
    user, mechanism = call.text("user"), _MECHANISMS[call.text("mechanism")]
    if call.flag("new_only") and any(each.name == user for each in await list_users(call.cluster)):
        raise BadValue(f"There is a user {user} already.", "user")
    await set_password(call.cluster, user, call.text("password"), mechanism, call.number("iterations"))
    return Changed(f"The user {user} has a new password for {mechanism.title}.", call.url("security", "users"))


async def remove_user(call: Call) -> Changed:
    client, name, only = call.cluster, call.text("user"), call.text("mechanism")
    found = next((each for each in await list_users(client) if each.name == name), None)
    titles = [each.mechanism for each in found.credentials if only in ("", each.mechanism)] if found is not None else []
    if not titles:
        raise NotFound(f"There is no user {name}." if found is None else f"The user {name} has no credentials for {only}.")
    for each in titles:
        await remove_credential(client, name, _MECHANISMS[each])
    return Changed(f"The user {name} cannot log in with {' or '.join(titles)} any more.", call.url("security", "users"))


_USER: Final = Parameter("user", "The name of the user.", required=True)

OPERATIONS: Final = (
    view(
        "list_users",
        "/clusters/{cluster}/security/users",
        show_users,
        summary="Users with SCRAM credentials; never the credentials.",
        page="security/users.html",
        parameters=(SEARCH, PAGE, SIZE),
    ),
    change(
        "set_user_password",
        "/clusters/{cluster}/security/users",
        set_user_password,
        summary="Create a user, or give it another password.",
        parameters=(
            _USER,
            Parameter("password", "The password.", required=True, maximum=CREDENTIAL_CHARACTERS_MAX, secret=True),
            Parameter("mechanism", "The SCRAM mechanism.", default=_DEFAULT, choices=tuple(_MECHANISMS)),
            Parameter(
                "iterations", "Rounds of hashing: more make guesses slower.", int, 8_192, minimum=ITERATIONS_MIN, maximum=ITERATIONS_MAX
            ),
            Parameter("new_only", "Refuse to change a user that exists.", bool, False),
        ),
    ),
    change(
        "remove_user",
        "/clusters/{cluster}/security/users/remove",
        remove_user,
        summary="Remove the credentials of a user.",
        parameters=(_USER, Parameter("mechanism", "One mechanism only.", default="", choices=tuple(_MECHANISMS))),
    ),
)
