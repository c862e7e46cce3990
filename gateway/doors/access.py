"""Who gets in: host, origin, public funnel, token, and how often a wrong one may be tried.

This service makes agents run code, so every rule refuses by default. Forwarded
addresses and identity headers are believed only where the connection itself comes
from this machine, since anybody can write a header.
"""

import hashlib
import hmac
import ipaddress
import re
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aiohttp import web

from gateway.clock import Clock
from gateway.errors import Forbidden, TooMany, Unauthorized
from gateway.settings.settings import Settings

_PROXY_HEADERS = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip"})
_PROXY_PREFIXES = ("x-forwarded-", "x-original-", "tailscale-", "cf-")
_NOT_FROM_A_PAGE = ("X-Codriver-Client", "X-Voice-Client")
_ADDRESSES_KEPT = 4096
_WINDOW_S = 60.0
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s/@?#\\:\[\]]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_ADDRESS_AND_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]+)?|([0-9.]+):[0-9]+")


def token_digest(token: str) -> bytes:
    """The sha256 of a token, or the one that `sha256:…` spells out."""
    if token.startswith("sha256:"):
        return bytes.fromhex(token.removeprefix("sha256:"))
    return _hash(token)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


class Failures:
    """Counts wrong tokens by address, over the last minute."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, address: str) -> None:
        """One more wrong token. Raises TooMany where there were too many before it."""
        now = self._clock.monotonic()
        times = self._failed.setdefault(address, deque(maxlen=self._per_minute))
        self._failed.move_to_end(address)
        while len(self._failed) > _ADDRESSES_KEPT:
            self._failed.popitem(last=False)
        is_over = len(times) == self._per_minute and now - times[0] < _WINDOW_S
        times.append(now)
        if is_over:
            raise TooMany("too_many_failures")


@dataclass(frozen=True, slots=True)
class Caller:
    """Where a request comes from. `address` is the forwarded one behind a proxy on this machine."""

    address: str
    is_proxied: bool


class Access:
    """Applies the rules to requests."""

    def __init__(self, settings: Settings, clock: Clock, *, no_auth: bool = False) -> None:
        self._settings = settings
        token = settings.auth.token.get_secret_value()
        self._digest = token_digest(token) if token else None
        self._no_auth = no_auth
        self._failures = Failures(settings.auth.failures_per_minute, clock)
        self._hosts = frozenset(
            host.strip("[]").casefold() for host in (*settings.server.allowed_hosts, settings.server.host)
        )
        self._origins = frozenset(origin.casefold() for origin in settings.server.allowed_origins)

    @property
    def needs_token(self) -> bool:
        """Requests are told apart by a token; without one they must not look like a web page's."""
        return not self._no_auth

    def caller(self, request: web.BaseRequest) -> Caller:
        """Who is at the other end."""
        peer = _peer(request)
        is_proxied = any(
            name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIXES)
            for name in map(str.casefold, request.headers)
        )
        forwarded = request.headers.getall("X-Forwarded-For", [])
        if forwarded and _is_loopback(peer):
            # The last address is the one that our own proxy saw; those before it anybody can make up.
            return Caller(_neighbourhood(forwarded[-1].rpartition(",")[2]) or peer, is_proxied)
        return Caller(_neighbourhood(peer) or peer, is_proxied)

    def admit(self, request: web.BaseRequest, authority: str | None = None) -> None:
        """Refuse what no token makes good: the public internet, a foreign host name, another website.

        `authority` is the host of a request target in absolute form.
        """
        if "Tailscale-Funnel-Request" in request.headers:
            raise Forbidden("forbidden_funnel")
        hosts = request.headers.getall("Host", [])
        named = hosts if authority is None else [*hosts, authority]
        if len(hosts) != 1 or not all(self._is_own_host(host) for host in named):
            raise Forbidden("forbidden_host")
        origins = request.headers.getall("Origin", [])
        for origin in origins:
            if not self.is_own_origin(origin, hosts[0]) and not self.is_allowed_origin(origin):
                raise Forbidden("forbidden_origin")
        sites = request.headers.getall("Sec-Fetch-Site", [])
        if not origins and any(site.strip().casefold() == "cross-site" for site in sites):
            raise Forbidden("forbidden_origin")

    def is_allowed_origin(self, origin: str) -> bool:
        """The settings name this origin."""
        return origin.casefold() in self._origins

    def is_own_origin(self, origin: str, host: str) -> bool:
        """A page that this gateway served."""
        return origin.casefold() in (f"http://{host}".casefold(), f"https://{host}".casefold())

    def is_right(self, tokens: Iterable[str]) -> bool:
        """One of these is the token. Every one is compared, so that time tells nothing about which."""
        matches = [hmac.compare_digest(_hash(token), self._digest or b"") for token in tokens if token]
        return any(matches)

    def authorise(self, request: web.BaseRequest, tokens: Sequence[str], caller: Caller) -> None:
        """Let a right token in. Raises Unauthorized, or TooMany after too many wrong ones."""
        if self._no_auth:
            is_plain = any(name in request.headers for name in _NOT_FROM_A_PAGE)
            if request.method == "POST" and is_plain and not caller.is_proxied:
                return
            raise Unauthorized("unauthorized")
        if not self.is_right(tokens):
            if any(tokens):
                self._failures.add(caller.address)
            raise Unauthorized("unauthorized")

    def _is_own_host(self, header: str) -> bool:
        match = _HOST.fullmatch(header)
        if match is None:
            return False
        host = match[1].strip("[]").casefold()
        return host in self._hosts or is_loopback_host(host)


def is_loopback_host(host: str) -> bool:
    """A name or address that only this machine answers to."""
    return host == "localhost" or _is_loopback(host.strip("[]"))


def bearer_tokens(request: web.BaseRequest) -> list[str]:
    """The tokens of the Authorization header; the scheme in any case."""
    found = []
    for header in request.headers.getall("Authorization", []):
        scheme, _, token = header.strip().partition(" ")
        if scheme.casefold() == "bearer":
            found.append(token.strip())
    return found


def _peer(request: web.BaseRequest) -> str:
    peer = request.transport.get_extra_info("peername") if request.transport else None
    return str(peer[0]) if isinstance(peer, tuple) and peer else "local"


def _neighbourhood(text: str) -> str:
    """An address without a port, of IPv6 the network that one customer is given; "" if it is none."""
    text = text.strip()
    if match := _ADDRESS_AND_PORT.fullmatch(text):
        text = match[1] or match[2]
    try:
        ip = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((ip, 64), strict=False))


def _is_loopback(address: str) -> bool:
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address == "local"
    mapped = getattr(ip, "ipv4_mapped", None)
    return (mapped or ip).is_loopback
