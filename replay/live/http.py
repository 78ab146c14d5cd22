"""A POST whose answer is read line by line as it comes: HTTP/1.1, a connection for each.

The standard library has no client for asyncio, and what is needed of one is a page: a request, a status, and a body
that is chunked, of a stated length, or as long as the connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from telemetry.errors import UsageError, quoted

__all__ = ["Address", "AnswerError", "parse_address", "post_lines"]

#: An answer that is no success is read this far, for a message.
_MOST_SHOWN = 2_000
#: Bytes of a line; the last line of a streamed completion has counts alone, others a token.
_LONGEST_LINE = 1 << 22


class AnswerError(Exception):
    """The server refused, broke off, or answered something else than was asked for; the message is one line."""


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    host: str
    port: int
    prefix: str = ""
    secure: bool = False

    @property
    def url(self) -> str:
        """As a user writes it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.secure else ''}://{host}:{self.port}{self.prefix}"


def parse_address(url: str) -> Address:
    """The address in `http://HOST:PORT/PREFIX`.

    Raises
    ------
    UsageError
        Another scheme, no host, a port that is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise UsageError(f"{quoted(url)} is no address of a server: write http://HOST:PORT.")
    secure = parts.scheme == "https"
    return Address(parts.hostname, port or (443 if secure else 80), parts.path.rstrip("/"), secure)


async def post_lines(address: Address, path: str, body: bytes, headers: Mapping[str, str]) -> AsyncGenerator[str]:
    """The lines of the answer to a POST of JSON.

    Raises
    ------
    AnswerError
        Nobody listens, another status than 200, an answer that ends early or is no HTTP.
    """
    try:
        secure = ssl.create_default_context() if address.secure else None
        reader, writer = await asyncio.open_connection(address.host, address.port, limit=_LONGEST_LINE, ssl=secure)
    except OSError as error:
        raise AnswerError(f"no connection: {error.strerror or error}") from error
    try:
        writer.write(_head(address, path, len(body), headers) + body)
        await writer.drain()
        status, told = await _read_head(reader)
        pieces = _pieces(reader, told)
        if status != 200:
            raise AnswerError(f"status {status}: {await _shown(pieces)}")
        async for line in _lines(pieces):
            yield line
    except (OSError, EOFError, ValueError) as error:  # a line beyond the limit is a ValueError
        raise AnswerError(f"the connection broke: {error or type(error).__name__}") from error
    finally:
        writer.transport.abort()  # a close would wait for a server that does not read
        with suppress(OSError):
            await writer.wait_closed()


def _head(address: Address, path: str, length: int, headers: Mapping[str, str]) -> bytes:
    given = {"Host": f"{address.host}:{address.port}", "Content-Type": "application/json",
             "Content-Length": str(length), "Connection": "close", **headers}
    lines = [f"POST {address.prefix}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    """Status and headers, names in lower case."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
        raise AnswerError(f"no HTTP: {quoted(first)}")
    pairs = (line.partition(":") for line in lines if line)
    return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}


async def _pieces(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            yield await reader.readexactly(size)
            await reader.readexactly(2)
    elif "content-length" in headers:
        yield await reader.readexactly(int(headers["content-length"]))
    else:
        while piece := await reader.read(1 << 16):
            yield piece


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    held = b""
    async for piece in pieces:
        *whole, held = (held + piece).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace").rstrip("\r")
    if held:
        yield held.decode("utf-8", "replace")


async def _shown(pieces: AsyncIterator[bytes]) -> str:
    """The beginning of a body, on one line."""
    found = b""
    with suppress(OSError, EOFError, ValueError):
        async for piece in pieces:
            found += piece
            if len(found) > _MOST_SHOWN:
                break
    return quoted(" ".join(found.decode("utf-8", "replace").split()), 300)
