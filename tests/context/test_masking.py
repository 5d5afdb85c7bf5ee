"""Secrets: known shapes and named values are masked, ordinary text is not touched."""

import json
import time

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
        ("mysql --password hunter22 -e 'select 1'", "mysql --password [secret removed] -e 'select 1'"),
        ("login --db-password 'a b 3 d' now", "login --db-password '[secret removed]' now"),
        ("gh --token 9f8e7d6c5b4a3f2e1d0c x", "gh --token [secret removed] x"),
        ("mysql -u root -phunter22 db", "mysql -u root -p[secret removed] db"),
        ("sshpass -p hunter22 ssh host", "sshpass -p [secret removed] ssh host"),
        (
            "curl -su x; curl -u admin:hunter22 https://h",
            "curl -su x; curl -u admin:[secret removed] https://h",
        ),
        ("curl --user 'admin:hunter22' h", "curl --user 'admin:[secret removed]' h"),
        (
            "db:\n  password: |\n    hunter22\n    more\n  x: 1",
            "db:\n  password: |\n    [secret removed]\n  x: 1",
        ),
        ("db: |\n  password: |\n    hunter\n", "db: |\n  password: |\n    [secret removed]\n"),
        ("db:\n  password:\n    hunter22", "db:\n  password:\n    [secret removed]"),
        ("password:\n  hunter22\nuser: x", "password:\n  [secret removed]\nuser: x"),
        ("3\tpassword: >-\n4\t  hunter22", "3\tpassword: >-\n4\t  [secret removed]"),
        ("api-key=\nabcdef0123456789abcdef", "api-key=\n[secret removed]"),
        ('password := "hunter22"', 'password := "[secret removed]"'),
        ('{"password":"abc\\"hunter22","k":1}', '{"password":"[secret removed]","k":1}'),
        (
            '"x": "{\\"password\\": \\"abc\\\\\\"hunter22\\"}"',
            '"x": "{\\"password\\": \\"[secret removed]\\"}"',
        ),
        ("api_key: 'abc\\\ndef123456'", "api_key: '[secret removed]'"),
        ("sk-proj-abcDEF0123456789ghij\\\nKlMnOp78", "[secret removed]\\\n[secret removed]"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwxyz", "Authorization: Bearer [secret removed]"),
        ("SECRET_KEY_BASE: 3f2a9c4b8d7e6f5a4b3c", "SECRET_KEY_BASE: [secret removed]"),
        ("AccountKey=" + "Eby8/dM0" * 10 + "==;Endpoint=x", "AccountKey=[secret removed];Endpoint=x"),
        ("GOCSPX-" + "abcdefghijklmnopqrstuvwx", "[secret removed]"),
        (
            "https://hooks.slack.com/services/" + "T00000000/B00000000/XXXabcdef",
            "https://hooks.slack.com/services/[secret removed]",
        ),
        ("<password>hunter</password>", "<password>[secret removed]</password>"),
        ("<db.password> hunter </db.password>", "<db.password> [secret removed] </db.password>"),
        ("Authorization: Bearer abcdef1234567890abcdef", f"Authorization: Bearer {MASK}"),
        ("postgres://ann:s3cret@db/shop", f"postgres://ann:{MASK}@db/shop"),
        ('password="hunter two"', f'password="{MASK}"'),
        ('{\\"password\\": \\"hunter2\\"}', f'{{\\"password\\": \\"{MASK}\\"}}'),
        ("DB_PASSWORD=hunter2\nX=1", f"DB_PASSWORD={MASK}\nX=1"),
        ("password: hunter2", f"password: {MASK}"),
        ("client_secret = 'abcdef'", f"client_secret = '{MASK}'"),
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
        "pass --password TEXT to the command, or --password-file pw2.txt",
        "--password is required, --token likewise",
        "git push -u origin:main2",
        "docker run -u 1000:1000 -p 8080:80 image",
        "mkdir -p build2/out && cp -p a1 b2",
        "mysql -u root -p < dump2.sql",
        "password:\n  min_length: 12\n  max_length: 64",
        "password:\n  required: true",
        "token:\n  description2\n",
        "The password: |\nand then",
        "<password>string</password> and <password>${PW1}</password>",
        "Authorization: Bearer YOUR_TOKEN_GOES_HERE",
        "Authorization: Bearer $TOKEN",
        "bearer authentication is used by internationalization",
        "the secret\nis out",
        "API key:\n\n- one\n- two2",
        "https://hooks.slack.com/services/ is their address",
        "def f(password: str = '') -> None: ...",
        'log("password: ", "it is", \'x\')',
        "The bearer of this letter, the token ring and basic things",
        "def login(password: str, token: Token) -> None:",
        "login(password=password, api_key=get_key(user))",
        "password = os.environ['DB']",
        'password: "{{.Env.SIGN_PASSWORD}}" and auth_token=None, or session_token=session_token,',
        'SESSION_TOKEN = "WEB_SESSION_TOKEN"',
        "PWD=/home/ann OLDPWD=~/shop",
        "max_tokens=4096, input_tokens: 90123",
        "sk-learn, .sk-spinner-three-bounce-large and task-oriented-programming-is-fun",
        "https://example.org:8080/path@1",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert mask_secrets(text) == text


def test_private_key_blocks_are_masked_whole_or_cut() -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc+/=\nxyz\n-----END RSA PRIVATE KEY-----"
    assert mask_secrets(f"a\n{block}\nb") == f"a\n{MASK}\nb"
    assert mask_secrets(json.dumps(block)) == json.dumps(MASK)
    assert "MIIEabc" not in mask_secrets(block[:45])


@pytest.mark.parametrize(
    "unit",
    [
        "--password ", "mysql -p", "curl -u a:", "password: |\n ", "password:\n", 'password="\\"',
        "<password>", "AccountKey=", "hooks.slack.com/services/", "Authorization: Bearer ",
        "[secret removed]\\\n", "\\", ":\n", "=\\n",
        "password: |\n  a1b2\n  ", "--a-a-a-", " -p", "<a.password ", "pass\n",
    ],
)  # fmt: skip
def test_the_work_grows_with_the_text_only(unit: str) -> None:
    def seconds(text: str) -> float:
        begun = time.process_time()
        mask_secrets(text)
        return time.process_time() - begun

    small, large = (unit * (size // len(unit)) for size in (20_000, 160_000))
    assert seconds(large) < 40 * max(seconds(small), 0.002)


@given(
    st.text(max_size=200)
    | st.text(alphabet="password:= |\n-u\\\"'<>/1ak[", max_size=60)
    | st.sampled_from(["password=password=hunter2222", "Bearer Bearer abcdefgh12345678"])
)
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask_secrets(text)
    assert mask_secrets(once) == once


@given(
    st.lists(
        st.sampled_from(
            ["password", "=", ": ", '"', "\\", "[", " ", "a1b2c3d4", SHAPES[0], MASK, "@", "://u:"]
        )
    )
)
def test_masking_twice_changes_nothing_however_marks_and_names_meet(pieces: list[str]) -> None:
    once = mask_secrets("".join(pieces))
    assert mask_secrets(once) == once
