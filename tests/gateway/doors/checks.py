"""What every refusal looks like, and bytes that are no request."""

from tests.gateway.doors.wire import Response

SECRET = "S3CRET-0815"
UNREADABLE = {
    "no method": f"\x01\x02{SECRET}\r\n\r\n",
    "unknown method": f"{SECRET} /voice/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "no version": f"GET /voice/ask?token={SECRET}\r\nHost: 127.0.0.1\r\n\r\n",
    "wrong version": f"GET /voice/ask?token={SECRET} HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "blank in target": f"GET /voice/ask?message=a {SECRET} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "header without colon": f"GET /voice/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n{SECRET}\r\n\r\n",
    "header name with blank": f"GET /voice/ask HTTP/1.1\r\nAuthorization : Bearer {SECRET}\r\n\r\n",
    "folded header": f"GET /voice/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n {SECRET}\r\n\r\n",
    "NUL in header": f"GET /voice/ask HTTP/1.1\r\nAuthorization: Bearer {SECRET}\0\r\n\r\n",
    "bare CR in header": f"GET /voice/ask HTTP/1.1\r\nAuthorization: Bearer {SECRET}\rX: y\r\n\r\n",
    "length is a word": f"POST /voice/ask HTTP/1.1\r\nContent-Length: {SECRET}\r\n\r\n",
    "negative length": f"POST /voice/ask?token={SECRET} HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "two lengths": f"POST /?token={SECRET} HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "length and chunks": f"PUT /{SECRET} HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "long target": f"GET /voice/ask?message={SECRET}{'x' * 9000} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "long header": f"GET /voice/ask HTTP/1.1\r\nX-Long: {SECRET}{'x' * 9000}\r\n\r\n",
    "many headers": "GET / HTTP/1.1\r\n" + "".join(f"X-{i}: {SECRET}\r\n" for i in range(200)) + "\r\n",
    "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + SECRET + "\r\n\r\n",
    "tokens in the authority": f"GET http://[{SECRET}/voice/ask HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


def check_sentence(response: Response) -> None:
    """Fit to be spoken, and silent about everything it should be."""
    text = response.text
    assert 0 < len(text) <= 200
    assert "\n" not in text
    assert not set("<>{}[]|`\\/") & set(text)
    assert response.header("Content-Type") == "text/plain; charset=utf-8"
    check_headers(response)


def check_headers(response: Response) -> None:
    assert response.header("Server") is None
    assert response.header("Cache-Control") == "no-store"
    assert response.header("X-Content-Type-Options") == "nosniff"


def told(content: str) -> str:
    """The driver's words: what stands before the relay note."""
    return content.rpartition("\n\n--- codriver note ")[0]
