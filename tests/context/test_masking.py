"""Secrets: known shapes and named values are masked, ordinary text is not touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.masking import mask_secrets


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-proj-abcDEF0123456789ghij end", "key [masked: api key] end"),
        ("ghp_0123456789abcdefABCDEF0123456789abcd", "[masked: github token]"),
        ("id AKIAABCDEFGHIJKLMNOP.", "id [masked: aws key]."),
        ("xoxb-123456789012-abcdefghij", "[masked: slack token]"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "[masked: google key]"),
        ("Authorization: Bearer abc.DEF-123456789xyz", "Authorization: Bearer [masked: token]"),
        ("password: hunter22", "password: [masked: password]"),
        ('"passwd" = "hunter22"', '"passwd" = "[masked: password]"'),
        ("api_key=9f8e7d6c5b4a3f2e1d0c", "api_key=[masked: secret]"),
        ("postgres://bob:s3cr3t@db:5432/x", "postgres://bob:[masked: password]@db:5432/x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
            "[masked: private key]\nrest",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut", "[masked: private key]"),
    ],
)
def test_secrets_are_masked(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "The token count is 12: tokens = 4096",
        "task-sk-something",
        "password: $DB_PASSWORD",
        "token: str = field()",
        "secret = load_secret_from_file",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "https://example.org/a/b?page=2",
        "auth: src/auth/session.py",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask_secrets(text) == text


@given(
    st.text(max_size=200)
    | st.sampled_from(["password=password=hunter2222", "Bearer Bearer abcdefgh12345678"])
)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once
