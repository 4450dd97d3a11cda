"""Client id metadata documents: a client's description, fetched from the https address that is its id.

Whoever asks for a grant chooses that address, so what may be fetched is narrow: https on the usual port of a host with
public addresses only, no redirects, little and quickly.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import ssl
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from memscope.contracts.grants import Client, GrantError
from memscope_accounts.clients import described

DOCUMENT_MAX = 5 * 1024
"""Bytes (draft-ietf-oauth-client-id-metadata-document, section 6.6, recommends this bound)."""
TIMEOUT_S = 5.0
"""For everything together."""
KEPT_S = 3600.0
"""How long a description is believed without looking again."""
REFUSED_S = 60.0
"""How long a failure is."""
KEPT_MAX = 512
FETCHES_AT_ONCE = 4
ADDRESS_MAX = 400
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)+/?")
_NAT64 = IPv6Network("64:ff9b::/96")
_HOST = re.compile(r"([a-z0-9-]+\.)+[a-z][a-z0-9-]*")

Address = IPv4Address | IPv6Address


def public(address: Address) -> bool:
    """Whether an address is of the public internet, also where one of IPv4 is written inside one of IPv6."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is not None:
            return public(inner)
        if address in _NAT64:
            return public(IPv4Address(int(address) & 0xFFFFFFFF))
        if address.is_site_local:  # no longer given out, and still somebody's inside
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


class Documents:
    """Fetches and remembers clients' documents. Thread-safe.

    `allowed`, `port` and `context` are what a test with a server of its own needs.
    """

    def __init__(
        self,
        *,
        allowed: Callable[[Address], bool] = public,
        port: int = 443,
        context: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._allowed = allowed
        self._port = port
        self._context = context or ssl.create_default_context()
        self._clock = clock
        self._timeout_s = timeout_s
        # A pool, since looking a name up knows no deadline.
        self._pool = ThreadPoolExecutor(FETCHES_AT_ONCE, "memscope-client-document")
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, Client | GrantError]] = OrderedDict()

    def client(self, url: str) -> Client:
        """The client that a document describes. GrantError `invalid_client`."""
        host = self._checked(url)
        with self._lock:
            until, known = self._kept.get(url, (0.0, None))
        if known is None or until <= self._clock():
            try:
                known = described(self._fetch(url, host), url)
            except GrantError as error:
                known = error
            with self._lock:
                self._kept[url] = (self._clock() + (KEPT_S if isinstance(known, Client) else REFUSED_S), known)
                self._kept.move_to_end(url)
                while len(self._kept) > KEPT_MAX:
                    self._kept.popitem(last=False)
        if isinstance(known, GrantError):
            raise GrantError(known.code, known.description)
        return known

    def _checked(self, url: str) -> str:
        """The host of an address that a client may have as its id."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise _refused("is no address") from None
        host = parts.hostname or ""
        if len(url) > ADDRESS_MAX or not url.isprintable() or parts.scheme != "https" or "?" in url or "#" in url or "@" in parts.netloc:
            raise _refused(
                f"must be an https address of at most {ADDRESS_MAX} characters without a query, a fragment or a name before its host"
            )
        if _PATH.fullmatch(parts.path) is None or any(part in (".", "..") for part in parts.path.split("/")):
            raise _refused("must have a plain path")
        if parts.netloc not in (host, f"{host}:{self._port}") or (port or 443) != self._port or _HOST.fullmatch(host) is None:
            raise _refused("must name a host in lower case, on the usual port")
        return host

    def _fetch(self, url: str, host: str) -> Any:
        try:
            return self._pool.submit(self._ask, url, host, time.monotonic() + self._timeout_s).result(self._timeout_s)
        except (OSError, http.client.HTTPException):
            raise _failed("it cannot be fetched over https") from None
        except (ValueError, RecursionError):
            raise _failed("it is no JSON") from None

    def _ask(self, url: str, host: str, deadline: float) -> Any:
        parts = urlsplit(url)
        with self._connected(host, deadline) as plain, self._context.wrap_socket(plain, server_hostname=host) as secure:
            head = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
            secure.sendall(head.encode())
            response = http.client.HTTPResponse(cast(Any, _InTime(secure, deadline)))
            response.begin()
            if response.status != 200:
                # Redirects are not followed: they would lead past every check above.
                raise _failed(f"its host answers with status {response.status}")
            kind = response.headers.get_content_type()
            if kind != "application/json" and not kind.endswith("+json"):
                raise _failed("it is not served as JSON")
            body = response.read(DOCUMENT_MAX + 1)
            if len(body) > DOCUMENT_MAX:
                raise _failed(f"it is larger than {DOCUMENT_MAX} bytes")
            return json.loads(body)

    def _connected(self, host: str, deadline: float) -> socket.socket:
        """A connection to one of the host's addresses, each checked first: no name is looked up again after the check."""
        found = socket.getaddrinfo(host, self._port, type=socket.SOCK_STREAM)
        addresses = [(family, address) for family, _, _, _, address in found]
        if not all(self._allowed(ip_address(str(address[0]).partition("%")[0])) for _, address in addresses):
            raise _failed("its host is not on the public internet")
        last: OSError = OSError("no address")
        for family, address in addresses[:2]:
            plain = socket.socket(family, socket.SOCK_STREAM)
            try:
                plain.settimeout(max(deadline - time.monotonic(), 0.01))
                plain.connect(address)
            except OSError as error:
                plain.close()
                last = error
            else:
                return plain
        raise last


class _InTime(io.RawIOBase):
    """Reads a connection until one deadline, however slowly it drips; `http.client.HTTPResponse` takes it for a socket."""

    def __init__(self, secure: ssl.SSLSocket, deadline: float) -> None:
        super().__init__()
        self._secure = secure
        self._deadline = deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        """A reader of the connection."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read what is there; TimeoutError past the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._secure.settimeout(left)
        return self._secure.recv_into(buffer)


def _refused(why: str) -> GrantError:
    return GrantError("invalid_client", f"client_id {why}.")


def _failed(why: str) -> GrantError:
    return GrantError("invalid_client", f"The client's document cannot be used: {why}.")
