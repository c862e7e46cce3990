"""Responses that do not say which server wrote them, and that nobody keeps."""

from aiohttp import web

_LINE_BREAKS = str.maketrans("\r\n\0", "   ")
_EVERYWHERE = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class PlainResponse(web.Response):
    """A response whose body is known."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        harden(self)


class PlainStream(web.StreamResponse):
    """The same for a streamed body."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        harden(self)


def harden(response: web.StreamResponse) -> None:
    """Set what every response has, and make every header value one line."""
    headers = response.headers
    headers.popall("Server", None)
    for name, value in _EVERYWHERE.items():
        headers.setdefault(name, value)
    for name, value in list(headers.items()):
        if value != value.translate(_LINE_BREAKS):
            headers[name] = value.translate(_LINE_BREAKS)
