"""Network settings of requests: proxies, certificates and paths."""

import datetime
import ipaddress
import json
import socket
import ssl
import threading
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpcore2
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic_ai import Agent

from tui_app.agent.errors import describe_error
from tui_app.agent.model_lists import NoListing, ask_listing
from tui_app.agent.models import ModelNotReady, ask_window, build_model
from tui_app.agent.network.addresses import server_address
from tui_app.agent.network.network import TRUST_VARIABLES, NoRoute, _trusted, http_client, proxy_of
from tui_app.events import Error
from tui_app.settings import Endpoint

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai": "/v1/responses",
    "anthropic": "/v1/messages",
    "google": "/v1/models/tiny:streamGenerateContent",
}
"""The path of each wire's requests."""
WIRES = tuple(PATHS)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
Answer = tuple[int, dict[str, str], object]


class Server:
    """A scripted server that records the requests; with a certificate, over TLS."""

    def __init__(self, answer: Callable[[str], Answer], trust: ssl.SSLContext | None = None) -> None:
        asked = self.asked = list[tuple[str, dict[str, str]]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                status, headers, value = answer(self.path)
                body = json.dumps(value).encode()
                self.send_response(status)
                for name, each in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, each)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST

            def log_message(self, *_: object) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """Ignore clients that refuse the certificate and disconnect."""

        self._server = Quiet(("127.0.0.1", 0), Handler)
        if trust is not None:
            self._server.socket = trust.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.root = f"http{'s' if trust else ''}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def paths(self) -> list[str]:
        return [path.partition("?")[0] for path, _ in self.asked]


Serve = Callable[..., Server]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    for name in (*PROXIES, *map(str.lower, PROXIES), "NO_PROXY", "no_proxy", *TRUST_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    # Tests share one context, which must not be changed.
    monkeypatch.setattr(httpcore2, "default_ssl_context", httpcore2.default_ssl_context.__wrapped__)
    _trusted.cache_clear()
    started: list[Server] = []

    def start(answer: Callable[[str], Answer] | None = None, trust: ssl.SSLContext | None = None) -> Server:
        started.append(Server(answer or (lambda _: refused(500)), trust))
        return started[-1]

    yield start
    for server in started:
        server.close()
    _trusted.cache_clear()


def refused(status: int, said: str = "no", **headers: str) -> Answer:
    return status, headers, {"error": {"message": said}}


def endpoint(wire: str, url: str, **more: Any) -> dict[str, Endpoint]:
    return {"mine": Endpoint(name="mine", protocol=wire, base_url=url, **more)}


async def ask(wire: str, url: str, env: Mapping[str, str] | None = None, **more: Any) -> Error:
    """Return the error of a turn with this endpoint; every server here answers with errors only."""
    model = build_model("mine:tiny", env=env or {}, endpoints=endpoint(wire, url, **more))
    try:
        async with Agent(model) as agent, agent.run_stream("hello") as answer:
            await answer.get_output()
    except Exception as error:
        return describe_error(error, model="mine:tiny")
    raise AssertionError


@pytest.mark.parametrize("variable", [*PROXIES, *map(str.lower, PROXIES)])
@pytest.mark.parametrize("wire", WIRES)
async def test_nothing_of_this_machine_goes_through_a_proxy(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, wire: str, variable: str
) -> None:
    server, proxy = serve(), serve()
    monkeypatch.setenv(variable, proxy.root)
    await ask(wire, server.root)
    assert (server.paths, proxy.asked) == ([PATHS[wire]], [])


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:8080", "http://LOCALHOST.", "http://models.localhost", "http://127.8.0.1", "http://127.1",
        "http://[::1]:1234/v1", "http://[::ffff:127.0.0.1]", "http://0.0.0.0:8000",
    ],
)  # fmt: skip
def test_every_name_of_this_machine(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example:3128")
    assert proxy_of(url) == ("", "")


@pytest.mark.parametrize(
    ("none", "url", "is_proxied"),
    [
        ("", "https://api.example.com/v1", True),
        ("*", "https://api.example.com/v1", False),
        ("example.com", "https://api.example.com/v1", False),
        ("other.net .example.com", "https://api.example.com/v1", False),
        ("*.example.com,other.net", "https://api.example.com/v1", False),
        ("ample.com", "https://api.example.com/v1", True),
        ("10.0.0.0/8", "http://10.4.5.6:8000", False),
        ("10.0.0.0/8", "http://11.4.5.6:8000", True),
    ],
)
def test_who_needs_no_proxy(monkeypatch: pytest.MonkeyPatch, none: str, url: str, is_proxied: bool) -> None:
    monkeypatch.setenv("ALL_PROXY", "proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", none)
    expected = ("http://proxy.example:3128", "ALL_PROXY") if is_proxied else ("", "")
    assert proxy_of(url) == expected


@pytest.mark.parametrize("wire", WIRES)
async def test_everything_else_takes_the_proxy(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, wire: str
) -> None:
    proxy = serve(lambda _: refused(407))
    monkeypatch.setenv("HTTP_PROXY", proxy.root)
    told = await ask(wire, "http://models.example")
    assert proxy.paths[-1] == f"http://models.example{PATHS[wire]}"
    assert ("proxy" in told.message, told.retryable) == (True, False)


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_proxy_that_is_not_there_is_told_as_that(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, wire: str, scheme: str
) -> None:
    serve()
    monkeypatch.setenv("ALL_PROXY", "http://me:hidden@127.0.0.1:9")
    told = await ask(wire, f"{scheme}://models.example/v1")
    assert told.message == "The proxy 127.0.0.1:9 does not answer."
    assert ("ALL_PROXY" in told.hint, told.kind, told.retryable) == (True, "network", False)


@pytest.mark.parametrize(
    ("proxy", "said"),
    [
        ("ftp://127.0.0.1:9", "HTTPS_PROXY names no proxy that can be used: 127.0.0.1:9."),
        ("http://127.0.0.1:port", "HTTPS_PROXY names no proxy that can be used: 127.0.0.1:port."),
    ],
)
async def test_what_is_no_proxy_is_told_as_that(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, proxy: str, said: str
) -> None:
    serve()
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    assert (await ask("openai-chat", "https://models.example/v1")).message == said


async def test_a_proxy_that_lets_nothing_through_is_told_as_that(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            self.send_error(403)

        def log_message(self, *_: object) -> None:
            pass

    serve()
    with ThreadingHTTPServer(("127.0.0.1", 0), Closed) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.server_address[1]}")
        told = await ask("openai-chat", "https://models.example/v1")
        proxy.shutdown()
        thread.join()
    assert "did not let the request to models.example through: 403" in told.message


# Certificates.


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Callable[..., ssl.SSLContext]]:
    """A company's root certificate, and a factory for server certificates signed by it."""
    folder, root = tmp_path_factory.mktemp("company"), ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Company")])

    def certificate(key: Any, host: str, days: int) -> x509.Certificate:
        begun = (
            x509.CertificateBuilder()
            .subject_name(name if key is root else x509.Name([]))
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=9))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=key is root, path_length=None), critical=True)
        )
        if key is not root:
            names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))])
            begun = begun.add_extension(names, critical=True)
        return begun.sign(root, hashes.SHA256())

    (folder / "ca.pem").write_bytes(certificate(root, "", 9).public_bytes(serialization.Encoding.PEM))

    def server(host: str = "127.0.0.1", days: int = 9) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        file = folder / f"{host}{days}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(private + certificate(key, host, days).public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    return folder / "ca.pem", server


Company = tuple[Path, Callable[..., ssl.SSLContext]]


@pytest.mark.parametrize("variable", TRUST_VARIABLES)
async def test_the_variables_of_other_programs_name_certificates(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, company: Company, variable: str
) -> None:
    authority, trust = company
    server = serve(trust=trust())
    monkeypatch.setenv(variable, str(authority.parent if variable.endswith("_DIR") else authority))
    assert "internal error" in (await ask("openai-chat", server.root)).message


@pytest.mark.parametrize("wire", WIRES)
async def test_each_wire_takes_them_and_tells_where_there_are_none(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, company: Company, wire: str
) -> None:
    authority, trust = company
    server = serve(trust=trust())
    told = await ask(wire, server.root)
    assert "is not trusted here" in told.message
    assert ("SSL_CERT_FILE" in told.hint, told.retryable) == (True, False)
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", str(authority))
    await ask(wire, server.root)
    assert server.paths == [PATHS[wire]]


@pytest.mark.parametrize(
    ("host", "days", "said"),
    [("127.0.0.2", 9, "is for another host"), ("127.0.0.1", -1, "has expired")],
)
async def test_what_is_wrong_with_a_certificate(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, company: Company, host: str, days: int, said: str
) -> None:
    authority, trust = company
    server = serve(trust=trust(host, days))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    told = await ask("openai-chat", server.root)
    assert (said in told.message, told.retryable) == (True, False)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("variable", "content", "why"),
    [
        ("SSL_CERT_FILE", None, "cannot be read"),
        ("SSL_CERT_FILE", "", "holds no certificates"),
        ("REQUESTS_CA_BUNDLE", "hello", "holds no certificates"),
    ],
)
async def test_a_variable_that_leads_nowhere_is_told_as_that(
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    *,
    wire: str,
    variable: str,
    content: str | None,
    why: str,
) -> None:
    serve()
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv(variable, str(file))
    told = await ask(wire, "https://127.0.0.1:9/v1")
    assert (f"{variable} names {file}, which {why}" in told.message, told.retryable) == (True, False)
    # Requests without TLS need no certificate.
    assert "Nothing answers" in (await ask(wire, "http://127.0.0.1:9/v1")).message


async def test_a_folder_without_certificates_is_told_as_that(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    told = await ask("openai-chat", "https://127.0.0.1:9/v1")
    assert f"SSL_CERT_DIR names {tmp_path}, which holds no certificates" in told.message


async def test_listings_are_told_of_it_too(serve: Serve, company: Company) -> None:
    server = serve(trust=company[1]())
    with pytest.raises(NoListing, match="certificate that is not trusted"):
        await ask_listing(server_address(server.root))


@pytest.mark.parametrize("wire", WIRES)
async def test_http_and_https_mixed_up(serve: Serve, wire: str) -> None:
    serve()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def alert() -> None:
            """Answer as many servers do when TLS was not started, and disconnect."""
            with listener.accept()[0] as connection:
                connection.recv(65_536)
                connection.sendall(bytes.fromhex("15030100020246"))

        thread = threading.Thread(target=alert)
        thread.start()
        told = [await ask(wire, serve().root.replace("http:", "https:"))]
        told.append(await ask(wire, f"http://127.0.0.1:{port}"))
        thread.join()
    assert [each.message.rpartition(" ")[2] for each in told] == ["HTTPS.", "HTTP."]
    assert [("https://" in each.hint, each.retryable) for each in told] == [(True, False)] * 2


# Addresses as users paste them.


def forms(wire: str, prefix: str = "") -> Sequence[str]:
    """Return an address with and without its version, and with the whole path of a request."""
    path = f"{prefix}{PATHS[wire]}"
    version = f"{prefix}/{PATHS[wire].split('/')[1]}"
    return (prefix, f"{prefix}/", version, f"{version}/", path, f"{path}/", f"{version}/models")


@pytest.mark.parametrize(
    ("wire", "prefix", "form"),
    [
        (wire, prefix, form)
        for wire in WIRES
        for prefix in ("", "/gateway/of/mine")
        for form in forms(wire, prefix)
    ],
)
async def test_an_address_as_it_is_pasted(serve: Serve, wire: str, prefix: str, form: str) -> None:
    path = f"{prefix}{PATHS[wire]}"
    server = serve(lambda asked: refused(500 if asked.partition("?")[0] == path else 404))
    assert "internal error" in (await ask(wire, server.root + form)).message
    model = build_model("mine:tiny", env={}, endpoints=endpoint(wire, server.root + form))
    assert await ask_window(model, endpoint(wire, server.root + form)["mine"], {}) is None
    assert server.paths[-1].endswith("/models")


@pytest.mark.parametrize("wire", ["openai-chat", "openai"])
async def test_a_server_without_a_version_is_found_as_well(serve: Serve, wire: str) -> None:
    path = PATHS[wire].removeprefix("/v1")
    server = serve(lambda asked: refused(500 if asked == path else 404))
    model = build_model("mine:tiny", env={}, endpoints=endpoint(wire, server.root))
    for _ in range(2):
        with pytest.raises(Exception, match="500"):
            await Agent(model).run("hello")
    assert server.paths == [f"/v1{path}", path, path]


@pytest.mark.parametrize("wire", WIRES)
async def test_the_error_of_a_wrong_path_names_it(serve: Serve, wire: str) -> None:
    server = serve(lambda _: refused(404, "Not Found"))
    told = await ask(wire, server.root)
    assert (server.paths[0] in told.message, "path_prefix" in told.hint) == (True, True)


@pytest.mark.parametrize("wire", WIRES)
async def test_a_model_that_is_not_there_is_told_as_that(serve: Serve, wire: str) -> None:
    server = serve(lambda _: refused(404, "The model tiny does not exist."))
    assert "no model named mine:tiny" in (await ask(wire, server.root)).message


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_told_and_nothing_is_sent_on(serve: Serve, wire: str, status: int) -> None:
    other = serve()
    server = serve(lambda path: refused(status, Location=f"{other.root}{path}"))
    told = await ask(wire, f"{server.root}")
    assert told.message == f"127.0.0.1 redirects to {other.root}{server.asked[0][0]} (HTTP {status})."
    assert (told.retryable, other.asked) == (False, [])


# The user's settings for a server.


@pytest.mark.parametrize(("prefix", "begun"), [("v7", "/gate/v7/"), ("", "/gate/"), ("/a/b", "/gate/a/b/")])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_path_prefix_takes_the_place_of_the_version(
    serve: Serve, wire: str, prefix: str, begun: str
) -> None:
    server = serve()
    await ask(wire, f"{server.root}/gate", path_prefix=prefix)
    assert server.paths == [begun + PATHS[wire].split("/", 2)[2]]


@pytest.mark.parametrize("wire", WIRES)
async def test_headers_come_from_the_environment_with_every_request(serve: Serve, wire: str) -> None:
    server = serve()
    own = endpoint(wire, server.root, headers_env={"Authorization": "GATE_TOKEN", "x-team": "TEAM"})
    env = {"GATE_TOKEN": "Basic abc", "TEAM": "tide"}
    model = build_model("mine:tiny", env=env, endpoints=own)
    with pytest.raises(Exception, match="500"):
        await Agent(model).run("hello")
    assert await ask_window(model, own["mine"], env) is None
    sent = [(each["authorization"], each["x-team"]) for _, each in server.asked]
    assert set(sent) == {("Basic abc", "tide")}
    with pytest.raises(ModelNotReady, match="TEAM, which is not set"):
        build_model("mine:tiny", env={"GATE_TOKEN": "Basic abc"}, endpoints=own)


# Paginated listings.


def rows(numbers: Sequence[int]) -> list[dict[str, Any]]:
    return [{"id": f"m{each}", "max_model_len": 1_000 + each} for each in numbers]


def by_last(parameter: str) -> Callable[[str], Answer]:
    """Five models in pages of two, each page requested by the last id of the previous one."""

    def answer(path: str) -> Answer:
        begin = int(path.partition(f"{parameter}=m")[2] or -1) + 1
        data = rows(range(begin, min(begin + 2, 5)))
        return 200, {}, {"data": data, "has_more": begin < 4, "last_id": data[-1]["id"]}

    return answer


def by_token(path: str) -> Answer:
    begin = int(path.partition("pageToken=")[2] or 0)
    numbers = range(begin, min(begin + 2, 5))
    data = [{"name": f"models/m{each}", "inputTokenLimit": 1_000 + each} for each in numbers]
    return 200, {}, {"models": data} | ({"nextPageToken": str(begin + 2)} if begin < 4 else {})


def by_link(path: str) -> Answer:
    begin = int(path.partition("page=")[2] or 0)
    link = {"Link": f'</v1/models?page={begin + 2}>; rel="next"'} if begin < 4 else {}
    return 200, link, {"data": rows(range(begin, min(begin + 2, 5)))}


def over_and_over(_path: str) -> Answer:
    return 200, {}, {"data": rows(range(5)), "has_more": True, "last_id": "m4"}


@pytest.mark.parametrize(
    ("wire", "answer"),
    [
        ("openai-chat", by_last("after")), ("openai", by_last("after")), ("anthropic", by_last("after_id")),
        ("google", by_token), ("openai-chat", by_link), ("openai-chat", over_and_over),
    ],
)  # fmt: skip
async def test_a_listing_is_read_to_its_last_page(
    serve: Serve, wire: str, answer: Callable[[str], Answer]
) -> None:
    server = serve(answer)
    found = await ask_listing(server_address(server.root, wire), protocol=wire)
    assert found == {f"m{each}": 1_000 + each for each in range(5)}


async def test_a_page_of_another_server_is_not_asked_for(serve: Serve) -> None:
    other = serve()
    link = {"Link": f'<{other.root}/v1/models?page=2>; rel="next"'}
    server = serve(lambda _: (200, link, {"data": rows([1])}))
    await ask_listing(server_address(server.root))
    assert other.asked == []


async def test_one_client_serves_hosts_near_and_far(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with http_client() as client:
        assert (await client.get(server.root)).status_code == 500
        with pytest.raises(NoRoute):
            await client.get("http://models.example")


# Signing in to an MCP server.


async def test_a_sign_in_on_this_machine_takes_no_proxy_and_the_certificates_that_are_named(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, company: Company, tmp_path: Path
) -> None:
    pytest.importorskip("mcp")
    from tests.agent.test_mcp_sign_in import signed_in
    from tests.servers.mcp_oauth import mcp_oauth

    authority, trust = company
    proxy = serve()
    for name in PROXIES:
        monkeypatch.setenv(name, proxy.root)
    known = ssl.create_default_context(cafile=authority)
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=known)
    )
    monkeypatch.setattr(webbrowser, "open", lambda url: direct.open(url, timeout=20).close())
    with mcp_oauth(trust()) as harbour:
        doubted = await signed_in(harbour, tmp_path)
        assert doubted.state == "failed"
        assert "SSL_CERT_FILE" in doubted.error
        assert harbour.seen == [("server", "/.well-known/oauth-protected-resource/mcp")]
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        assert (await signed_in(harbour, tmp_path)).state == "ready"
    assert (harbour.signed_in, harbour.leaked, proxy.asked) == (1, [], [])


async def test_a_sign_in_elsewhere_takes_the_proxy(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    from tui_app.agent.mcp.oauth import SignInFailed, network_of

    serve()
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    network = await network_of("https://93.184.216.34/mcp")
    with pytest.raises(SignInFailed, match=r"The proxy 127\.0\.0\.1:9 does not answer"):
        await network.fetch(httpx2.Request("POST", "https://93.184.216.35/token", content=b"code=1"))


async def test_an_mcp_server_that_cannot_be_reached_is_told_like_any_other(
    serve: Serve, company: Company, tmp_path: Path
) -> None:
    pytest.importorskip("mcp")
    from tests.agent.test_mcp_servers import sign_ins, status
    from tests.agent.test_mcp_sign_in import servers_at

    _, trust = company
    server = serve(trust=trust())
    for url, told in (
        (server.root, f"The certificate of 127.0.0.1:{server.port} is not trusted here"),
        ("http://127.0.0.1:9", "Nothing answers at 127.0.0.1:9. Start the server, or check its url"),
    ):
        async with servers_at(f"{url}/mcp", tmp_path, sign_ins(tmp_path)) as servers:
            servers.start()
            await servers.settle(30)
            assert told in status(servers, "web").error
