"""Secrets: known shapes and named values are masked, ordinary text is not touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.masking import MASK, mask_secrets, names_secret

SHAPES = [
    "sk-proj-" + "a1B2" * 10,
    "sk-" + "abcdefghijklmnopqrstuvwx",
    "sk-" + "AbCdEf-GhIjKl_MnOpQrSt",
    "sk-ant-" + "api03-" + "x9Y8" * 20,
    "sk_live_" + "a1B2c3D4e5F6",
    "rk_test_" + "a1B2c3D4e5F6",
    "whsec_" + "a1B2c3D4e5F6g7H8i9",
    "AKIA" + "ABCDEFGH12345678",
    "ASIA" + "ABCDEFGH12345678",
    "ghp_" + "a1B2c3" * 6,
    "github_pat_" + "11ABCDEFG0" * 3,
    "glpat-" + "a1b2c3d4e5f6g7h8i9j0",
    "xoxb-" + "123456789012-abcdef",
    "xapp-" + "1-A0123456789-abcdef",
    "AIza" + "Sy" + "a" * 33,
    "ya29." + "a0AfB_" * 6,
    "hf_" + "abcDEF123" * 4,
    "gsk_" + "abcDEF123" * 5,
    "xai-" + "abcDEF123" * 5,
    "nvapi-" + "abcDEF123" * 5,
    "pplx-" + "abcDEF123" * 5,
    "r8_" + "abcDEF123" * 4,
    "npm_" + "abcDEF123" * 4,
    "pypi-" + "AgEIcHlwaS5vcmc" * 5,
    "dop_v1_" + "0a1b2c3d" * 8,
    "shpat_" + "0a1b2c3d" * 4,
    "SG." + "a1B2c3D4e5F6g7H8i9J0kl" + "." + "m1N2o3P4" * 5,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + "s" * 20,
    "sk-" + "a1" * 120,
]
"""Made-up keys in the shapes of their vendors, put together here so that no scanner takes them for real."""


@pytest.mark.parametrize("secret", SHAPES, ids=lambda secret: secret[:8])
@pytest.mark.parametrize("around", ["{}", "key={};", '"{}"', "({})\n", "export KEY={}", "\\n{}\\n", "a\n{}"])
def test_every_shape_is_masked_wherever_it_stands(secret: str, around: str) -> None:
    masked = mask_secrets(around.format(secret))
    assert MASK in masked
    assert secret[4:24] not in masked


def test_a_key_behind_an_underscore_is_masked() -> None:
    assert mask_secrets("prod_AKIA" + "ABCDEFGH12345678 on") == f"prod_{MASK} on"


@pytest.mark.parametrize("secret", SHAPES, ids=lambda secret: secret[:8])
def test_json_stays_json(secret: str) -> None:
    value = {"text": f'say "{secret}"\n{secret}', "password": secret, "inner": json.dumps({"token": secret})}
    read = json.loads(mask_secrets(json.dumps(value)))
    assert read["text"].startswith(f'say "{MASK}')
    assert json.loads(read["inner"]) == {"token": MASK}


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("password", True),
        ("DB_PASSWORD", True),
        ("apiKey", True),
        ("client_secret", True),
        ("kennwort", True),
        ("tokens", False),
        ("name", False),
    ],
)
def test_fields_are_known_by_their_names(name: str, secret: bool) -> None:
    assert names_secret(name) is secret


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-proj-abcDEF0123456789ghij end", "key [secret removed] end"),
        ("ghp_0123456789abcdefABCDEF0123456789abcd", "[secret removed]"),
        ("id AKIAABCDEFGHIJKLMNOP.", "id [secret removed]."),
        ("xoxb-123456789012-abcdefghij", "[secret removed]"),
        ("AIzaSyA0123456789abcdefghijklmnopqrstuv", "[secret removed]"),
        ("Authorization: Bearer abc.DEF-123456789xyz", "Authorization: Bearer [secret removed]"),
        ("token = 9f8e7d6c5b4a3f2e1d0c", "token = [secret removed]"),
        ("password = hunter22", "password = [secret removed]"),
        ("Kennwort: hunter22", "Kennwort: [secret removed]"),
        ("password: hunter22", "password: [secret removed]"),
        ('"passwd" = "hunter22"', '"passwd" = "[secret removed]"'),
        ("api_key=9f8e7d6c5b4a3f2e1d0c", "api_key=[secret removed]"),
        ("postgres://bob:s3cr3t@db:5432/x", "postgres://bob:[secret removed]@db:5432/x"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest",
            "[secret removed]\nrest",
        ),
        ("-----BEGIN PRIVATE KEY-----\nMIIE cut", "[secret removed]"),
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
        ".sk-spinner-three-bounce-large and sk-learn",
        "password = os.environ['DB2']",
        "token = tokenizer2.encode_plus(text)",
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
