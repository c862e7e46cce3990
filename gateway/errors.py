"""Everything that can go wrong with a request, as one tree.

::

    GatewayError
    ├── BadRequest            400  bad_field, duplicate_field, stray_key, empty_message, not_utf8, …
    ├── Unauthorized          401  unauthorized
    ├── Forbidden             403  forbidden_host, forbidden_origin, forbidden_funnel, session_forbidden, …
    ├── NotFound              404  not_found, no_sessions, no_session, which_session, session_dead
    ├── MethodNotAllowed      405  method_not_allowed
    ├── Conflict              409  ambiguous_session, id_clash, session_moved
    ├── TooLargeRequest       413  too_large, too_long, message_too_long
    ├── NothingUsable         422  nothing_heard, heard_uncertain, unreadable, truncated
    ├── TooMany               429  too_many_failures, busy
    └── Unavailable           503  session_unreachable, no_speech

`code` is stable and doubles as the key of the sentence in `config/phrases/`;
`fields` fill that sentence. An exception's own text is never spoken.
"""

from collections.abc import Mapping


class GatewayError(Exception):
    """A request failed for a reason that has a sentence."""

    status = 500

    def __init__(
        self, code: str, fields: Mapping[str, str] | None = None, candidates: tuple[str, ...] = ()
    ) -> None:
        super().__init__(code)
        self.code = code
        self.fields = dict(fields or {})
        self.candidates = candidates


class BadRequest(GatewayError):
    """What was asked cannot be understood; nothing was sent."""

    status = 400


class Unauthorized(GatewayError):
    """No token, or a wrong one."""

    status = 401


class Forbidden(GatewayError):
    """Understood and refused by a rule."""

    status = 403


class NotFound(GatewayError):
    """No such path or session; `candidates` holds what could have been meant."""

    status = 404


class MethodNotAllowed(GatewayError):
    """The path exists, the method on it does not."""

    status = 405


class Conflict(GatewayError):
    """The request clashes with what is already known."""

    status = 409


class TooLargeRequest(GatewayError):
    """More bytes or seconds than are taken."""

    status = 413


class NothingUsable(GatewayError):
    """A recording without usable words."""

    status = 422


class TooMany(GatewayError):
    """Later, please."""

    status = 429


class Unavailable(GatewayError):
    """A part that is needed does not answer."""

    status = 503
