"""Fetching clients' documents: from a TLS server of our own, with everything that a hostile one could do."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from memscope_accounts.documents import DOCUMENT_MAX, Documents, public

from memscope.contracts.grants import GrantError

HOST = "agent.example"
REDIRECT = "https://agent.example/callback"


class Serves(BaseHTTPRequestHandler):
    """Answers by path; `server.base` is where it is reached."""

    server: Any
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        url = f"{self.server.base}{self.path}"
        document: Any = {"client_id": url, "client_name": "Quill", "redirect_uris": [REDIRECT]}
        status, kind, more = 200, "application/json", b""
        match self.path.strip("/"):
            case "moved":
                self.send_response(302)
                self.send_header("Location", f"{self.server.base}/good")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            case "missing":
                status = 404
            case "page":
                kind = "text/html"
            case "cimd":
                kind = "application/cimd+json; charset=utf-8"
            case "large":
                more = b" " * DOCUMENT_MAX
            case "full":
                more = b" " * (DOCUMENT_MAX - len(json.dumps(document)))
            case "other":
                document["client_id"] += "/"
            case "secret":
                document["client_secret"] = "x"
            case "method":
                document["token_endpoint_auth_method"] = "client_secret_post"
            case "none":
                document["token_endpoint_auth_method"] = "none"
            case "redirects":
                document["redirect_uris"] = ["http://elsewhere.example/"]
            case "nameless":
                del document["client_name"]
            case "list":
                document = [document]
            case "slow":
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                for _ in range(200):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    if self.server.stop.wait(0.05):
                        return
                return
            case "deep":
                document = None
                more = b"[" * 5000
        body = (b"" if document is None else json.dumps(document).encode()) + more
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def certificate(folder: Path, host: str) -> Path:
    """A certificate that signs itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{host}.pem"
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, as ours does on purpose."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("tls")
    pem = certificate(folder, HOST)
    server: Any = _Server(("127.0.0.1", 0), Serves)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.base = f"https://{HOST}:{server.server_port}"
    server.asked, server.stop, server.pem = [], threading.Event(), pem
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.stop.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names mean while the test runs: host → addresses."""
    known = {HOST: ["127.0.0.1"]}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        if host not in known:
            raise socket.gaierror("no such name")
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[host]
        ]

    monkeypatch.setattr("memscope_accounts.documents.socket.getaddrinfo", look_up)
    return known


@pytest.fixture
def documents(served: Any, names: dict[str, list[str]]) -> Documents:
    context = ssl.create_default_context(cafile=str(served.pem))
    return Documents(allowed=lambda _: True, port=served.server_port, context=context, timeout_s=1.5)


def refused(documents: Documents, url: str) -> str:
    with pytest.raises(GrantError) as caught:
        documents.client(url)
    assert caught.value.code == "invalid_client"
    return caught.value.description


@pytest.mark.parametrize("path", ["/good", "/a/good.json", "/none", "/cimd", "/full"])
def test_a_document_describes_a_client(documents: Documents, served: Any, path: str) -> None:
    client = documents.client(served.base + path)
    assert (client.id, client.name, client.redirect_uris) == (served.base + path, "Quill", (REDIRECT,))
    assert (client.host, client.method, client.registered_at) == (HOST, "none", None)


def test_a_client_without_a_name_is_called_by_its_host(documents: Documents, served: Any) -> None:
    assert documents.client(f"{served.base}/nameless").name == HOST


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/moved", "status 302"),
        ("/missing", "status 404"),
        ("/page", "not served as JSON"),
        ("/large", "larger than 5120 bytes"),
        ("/other", "does not name its own address"),
        ("/list", "does not name its own address"),
        ("/secret", "method none"),
        ("/method", "method none"),
        ("/redirects", "redirect address"),
        ("/deep", "no JSON"),
    ],
)
def test_documents_that_cannot_be_used(documents: Documents, served: Any, path: str, words: str) -> None:
    served.asked.clear()
    assert words in refused(documents, served.base + path)
    assert [asked for asked, _ in served.asked] == [path]


def test_a_host_that_drips_is_left_in_time(documents: Documents, served: Any) -> None:
    assert "cannot be fetched" in refused(documents, f"{served.base}/slow")
    # Left to drip to its end it would be no JSON.


def test_nothing_of_ours_is_told(documents: Documents, served: Any) -> None:
    served.asked.clear()
    documents.client(f"{served.base}/good")
    ((_, headers),) = served.asked
    assert {name.lower() for name in headers} == {"host", "accept", "connection"}


def test_what_was_found_is_believed_for_a_while(served: Any, names: dict[str, list[str]]) -> None:
    now = [0.0]
    context = ssl.create_default_context(cafile=str(served.pem))
    documents = Documents(allowed=lambda _: True, port=served.server_port, context=context, clock=lambda: now[0], timeout_s=1.5)
    served.asked.clear()
    for _ in range(3):
        documents.client(f"{served.base}/good")
        refused(documents, f"{served.base}/missing")
    assert len(served.asked) == 2
    now[0] = 61
    documents.client(f"{served.base}/good")
    refused(documents, f"{served.base}/missing")
    assert len(served.asked) == 3
    now[0] = 3601
    documents.client(f"{served.base}/good")
    assert len(served.asked) == 4


@pytest.mark.parametrize(
    "url",
    [
        "http://agent.example/good",
        "https://agent.example",
        "https://agent.example/",
        "https://agent.example/good?x=1",
        "https://agent.example/good#x",
        "https://user@agent.example/good",
        "https://agent.example/a/../good",
        "https://agent.example/a//good",
        "https://AGENT.example/good",
        "https://agent.example:22/good",
        "https://agent.example:port/good",
        "https://127.0.0.1/good",
        "https://[::1]/good",
        "https://localhost/good",
        "https://2130706433/good",
        "https://agent.example/go od",
        "https://agent.example/good\r\nHost: x",
        "https://agent.example/" + "a" * 400,
        "https://agent.\u0435xample/good",
        "https://agent.example/go\nod",
        "https:/agent.example/good",
        "https:",
    ],
)
def test_addresses_that_no_client_has(served: Any, names: dict[str, list[str]], url: str) -> None:
    served.asked.clear()
    names.update({"localhost": ["127.0.0.1"], "127.0.0.1": ["127.0.0.1"]})
    assert refused(Documents(allowed=lambda _: True), url).startswith("client_id ")
    assert served.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "240.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "fd12:3456::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:db8::1",
    ],
)
def test_addresses_that_are_not_of_the_public_internet(served: Any, names: dict[str, list[str]], address: str) -> None:
    assert not public(ip_address(address))
    served.asked.clear()
    # One of several is enough: which one is taken would be the host's choice.
    names[HOST] = ["198.51.100.7" if address.startswith("192.0.2") else "8.8.8.8", address]
    documents = Documents(port=served.server_port, timeout_s=1.5)
    assert "not on the public internet" in refused(documents, f"{served.base}/good")
    assert served.asked == []


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_addresses_that_are(address: str) -> None:
    assert public(ip_address(address))


def test_a_name_is_looked_up_once(documents: Documents, served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check and the connection, the name could mean something else."""
    asked: list[str] = []
    plain = socket.getaddrinfo

    def counted(host: str, *arguments: Any, **more: Any) -> Any:
        asked.append(host)
        return plain(host, *arguments, **more)

    monkeypatch.setattr("memscope_accounts.documents.socket.getaddrinfo", counted)
    documents.client(f"{served.base}/good")
    assert asked == [HOST]


def test_certificates_are_checked(served: Any, names: dict[str, list[str]], tmp_path: Path) -> None:
    stranger = Documents(allowed=lambda _: True, port=served.server_port, timeout_s=1.5)
    assert "over https" in refused(stranger, f"{served.base}/good")
    names["other.example"] = ["127.0.0.1"]
    context = ssl.create_default_context(cafile=str(served.pem))
    documents = Documents(allowed=lambda _: True, port=served.server_port, context=context, timeout_s=1.5)
    assert "over https" in refused(documents, served.base.replace(HOST, "other.example") + "/good")
    assert "over https" in refused(documents, served.base.replace(HOST, "nobody.example") + "/good")
