"""Rules for addresses apply to scheme, host and port, however an address is spelled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.agent.approvals.rules import Action, judge, proposed_pattern
from tui_app.settings.rules import Refused
from tui_app.settings.tables import parse_rule
from tui_app.system.hosts import parse_host_rule, plain_host


def fetch(url: str) -> Action:
    return Action(tool="web_fetch", kind="address", subject=url)


def ruled(address: str, **lists: str) -> str:
    rules = [parse_rule(name, f"web_fetch {text}".strip()) for name, text in lists.items()]  # type: ignore[arg-type]
    return judge(fetch(address), rules).ruling


@pytest.mark.parametrize(
    ("pattern", "address"),
    [
        ("evil.example", "https://evil.example./x"),
        ("evil.example", "https://EVIL.example:443/"),
        ("evil.example", "https://\uff45vil.example/"),
        ("evil.example", "https://evil\u3002example/"),
        ("evil.example", "https://evil.example\uff0e/"),
        ("evil.example", "https://evil.exam\u00adple/"),
        ("evil.example", "https://evil.exam\u200bple/"),
        ("Evil.Example.", "https://evil.example/"),
        ("*.example", "https://evil.example./"),
        ("b\u00fccher.example", "https://xn--bcher-kva.example/"),
        ("xn--bcher-kva.example", "https://B\u00dcCHER.example/"),
        ("*\u00fccher.example", "https://xn--bcher-kva.example./"),
        ("127.0.0.1", "http://2130706433/"),
        ("127.0.0.1", "http://0x7f.1/"),
        ("::1", "http://[0:0:0:0:0:0:0:1]:80/"),
        ("[::1]", "https://[::1]:8443/"),
        ("[0:0::1]", "http://[::1]/"),
        ("10.0.0.7", "http://[::ffff:10.0.0.7]/"),
        ("10.0.0.7", "http://[64:ff9b::a00:7]/"),
        ("10.0.0.7", "http://[2002:a00:7::1]/"),
        ("[::ffff:10.0.0.7]", "http://10.0.0.7/"),
        ("10.0.0.7", "http://0xa.0.0.7:8080/x"),
        ("fe80::1", "http://[fe80::1%25eth0]/"),
        ("intranet:8080", "https://intranet:8080/"),
        ("http://intranet", "http://intranet:80/x"),
        ("http://intranet/admin", "http://intranet/%61dmin/users"),
        ("http://intranet/admin", "http://intranet/x/../Admin"),
    ],
)
def test_a_denied_host_is_found_in_every_spelling(pattern: str, address: str) -> None:
    assert ruled(address, deny=pattern, allow="") == "deny"


@pytest.mark.parametrize(
    ("pattern", "address", "ruling"),
    [
        ("docs.example.org", "https://docs.example.org/a", "allow"),
        ("docs.example.org", "http://docs.example.org/", "allow"),
        ("docs.example.org", "https://docs.example.org:8443/", "ask"),
        ("docs.example.org", "http://docs.example.org:443/", "ask"),
        ("docs.example.org:8443", "https://docs.example.org:8443/", "allow"),
        ("docs.example.org:8443", "https://docs.example.org/", "ask"),
        ("https://docs.example.org", "https://docs.example.org:443/a", "allow"),
        ("https://docs.example.org", "http://docs.example.org/", "ask"),
        ("https://docs.example.org/guide", "https://docs.example.org/guide/a", "allow"),
        ("https://docs.example.org/guide", "https://docs.example.org/guides", "ask"),
        ("https://docs.example.org/guide", "https://docs.example.org/guide/../x", "ask"),
        ("https://docs.example.org/guide", "https://docs.example.org/guide/%2e%2e/x", "ask"),
        ("*.example.org", "https://docs.example.org/", "allow"),
        ("*.example.org", "https://example.org/", "ask"),
        ("[::1]:3000", "http://[::1]:3000/", "allow"),
        ("10.0.0.7", "http://[64:ff9b::a00:7]/", "ask"),
        ("10.0.0.7", "http://[::ffff:a00:7]/", "allow"),
    ],
)
def test_an_allowed_host_is_its_scheme_and_port_and_nothing_else(
    pattern: str, address: str, ruling: str
) -> None:
    assert ruled(address, allow=pattern) == ruling


@pytest.mark.parametrize(
    "text",
    [
        "ftp://example.org", "http://", "http:///x", "example.org:0", "example.org:70000", "example.org:http",
        "user@example.org", "exa mple.org", "a..b", "[::1", "[example.org]", "::1:zz", "https://example.org:99999/",
        ":8080", "a" * 254,
    ],
)  # fmt: skip
@pytest.mark.parametrize("ruling", ["allow", "ask", "deny"])
def test_a_rule_that_can_fit_no_address_is_refused(ruling: str, text: str) -> None:
    with pytest.raises(Refused):
        parse_rule(ruling, f"web_fetch {text}")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("address", "pattern"),
    [
        ("https://docs.example.org/x?y", "web_fetch https://docs.example.org"),
        ("http://LOCALHOST:8080/", "web_fetch http://localhost:8080"),
        ("http://[0::1]:3000/", "web_fetch http://[::1]:3000"),
        ("http://*.example.org/", ""),
        ("http://*/", ""),
        ("http://d[ao]cs.example.org/", ""),
        ("ftp://example.org/", ""),
    ],
)
def test_always_means_this_scheme_host_and_port(address: str, pattern: str) -> None:
    assert proposed_pattern(fetch(address)) == pattern
    if pattern:
        assert ruled(address, allow=pattern.partition(" ")[2]) == "allow"


@given(st.text(min_size=1, max_size=20))
def test_a_host_has_one_plain_spelling(host: str) -> None:
    assert plain_host(plain_host(host)) == plain_host(host)
    parse_host_rule(host)
