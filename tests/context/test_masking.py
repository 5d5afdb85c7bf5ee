"""Secrets: known shapes and named values are masked, and ordinary text is not."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.system.secrets import MASK, mask_secrets, names_secret

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
    "hvs." + "CAESIJ" + "a1B2c3D4" * 3,
    "123456789:" + "AA" + "cTTdpzczFb694opgyEmkvNhw6hMdZUsrY",
    "dapi" + "0a1b2c3d" * 4,
    "dckr_pat_" + "a1B2c3D4" * 4,
    "dp.pt." + "a1B2c3D4e5" * 4,
    "dor_v1_" + "0a1b2c3d" * 8,
    "ntn_" + "a1B2c3D4e5" * 4,
    "secret_" + "a1B2c3D4e5" * 4 + "abc",
    "ATATT3" + "xFfGF0a1B2c3D4" * 4,
    "ATBB" + "a1B2c3D4" * 4,
    "lin_api_" + "a1B2c3D4" * 5,
    "figd_" + "a1B2c3D4" * 5,
    "sbp_" + "0a1b2c3d" * 5,
    "sb_secret_" + "a1B2c3D4" * 4,
    "key-" + "0a1b2c3d" * 4,
    "0a1b2c3d" * 4 + "-0a1b2c3d-0a1b2c3d",
    "NRAK-" + "A1B2C3D4E" * 3,
    "0a1b2c3d" * 4 + "0a1b" + "NRAL",
    "sntrys_" + "a1B2c3D4e5" * 6,
    "pscale_tkn_" + "a1B2c3D4e5" * 4,
    "AGE-SECRET-KEY-1" + "A1B2C3D4E5" * 5 + "ABCDEFGH",
    "SK" + "0a1b2c3d" * 4,
    "glrt-" + "a1b2c3d4e5f6g7h8i9j0",
    "glsa_" + "a1B2c3D4" * 4 + "_0a1b2c3d",
    "shpss_" + "0a1b2c3d" * 4,
    "PMAK-" + "0a1b2c3d" * 3 + "-" + "0a1b2c3d" * 4 + "0a",
    "pul-" + "0a1b2c3d" * 5,
    "tskey-auth-" + "kA1b2C3dCNTRL-" + "a1B2c3D4" * 3,
    "nfp_" + "a1B2c3D4" * 5,
    "rubygems_" + "0a1b2c3d" * 6,
    "a1B2c3D4e5F6g7.atlasv1." + "a1B2c3D4e5" * 6 + "abcdefg",
    "lsv2_pt_" + "0a1b2c3d" * 4 + "_0a1b2c3d5e",
    "tvly-" + "a1B2c3D4" * 4,
    "csk-" + "a1b2c3d4" * 6,
]
"""Made-up keys in their vendors' formats, assembled here so that secret scanners ignore them."""


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
        ("docker login -u bob -p hunter22x reg.io", f"docker login -u bob -p {MASK} reg.io"),
        ("podman login -p 'hunter22x' reg.io", f"podman login -p '{MASK}' reg.io"),
        ("helm registry login -u a -p hunter reg.io", f"helm registry login -u a -p {MASK} reg.io"),
        ("mysqldump -uroot -phunter db", f"mysqldump -uroot -p{MASK} db"),
        ("redis-cli -h db -a hunter22 ping", f"redis-cli -h db -a {MASK} ping"),
        ("mongosh -u bob -p hunter22 h", f"mongosh -u bob -p {MASK} h"),
        ("sshpass -phunter22 ssh -p 2222 h", f"sshpass -p{MASK} ssh -p 2222 h"),
        ("sshpass -p hunter22 ssh -p 2222 h", f"sshpass -p {MASK} ssh -p 2222 h"),
        ("ldapsearch -D cn=a -w hunter22", f"ldapsearch -D cn=a -w {MASK}"),
        ("sqlcmd -S h -U sa -P hunter22", f"sqlcmd -S h -U sa -P {MASK}"),
        ("unzip -P hunter22 a.zip", f"unzip -P {MASK} a.zip"),
        ("7z x -phunter22 a.7z", f"7z x -p{MASK} a.7z"),
        ("openssl rsa -passin pass:hunter22 -in k", f"openssl rsa -passin pass:{MASK} -in k"),
        ("htpasswd -bc .htpasswd bob hunter22", f"htpasswd -bc .htpasswd bob {MASK}"),
        ("echo 'bob:hunter22' | sudo chpasswd", f"echo 'bob:{MASK}' | sudo chpasswd"),
        (
            "aws configure set aws_secret_access_key abcDEF123",
            f"aws configure set aws_secret_access_key {MASK}",
        ),
        ("psql --db-pass hunter22 x", f"psql --db-pass {MASK} x"),
        ("DB_PASS=hunter2secret1", f"DB_PASS={MASK}"),
        ("export SMTP_PASS='correcthorse'", f"export SMTP_PASS='{MASK}'"),
        ('{"dbPass": "hunter22", "x": 1}', f'{{"dbPass": "{MASK}", "x": 1}}'),
        ("db_pass: hunter22", f"db_pass: {MASK}"),
        ("MYSQL_PWD=hunter GPG_PASSPHRASE=abcd", f"MYSQL_PWD={MASK} GPG_PASSPHRASE={MASK}"),
        ("machine github.com login bob password hunter", f"machine github.com login bob password {MASK}"),
        ("machine h\n  login bob\n  password hunter", f"machine h\n  login bob\n  password {MASK}"),
        ("default login a password hunter", f"default login a password {MASK}"),
        ("my password is hunter22!", f"my password is {MASK}"),
        ("das Passwort lautet: geheim123", f"das Passwort lautet: {MASK}"),
        (
            "https://0a1b2c3d4e5f60718293a4b5c6d7e8f901234567@github.com/a/b.git",
            f"https://{MASK}@github.com/a/b.git",
        ),
        ("https://0a1b2c3d4e5f60718293a4b5c6d7@h/a", f"https://{MASK}@h/a"),
        ("Cookie: session=a1b2c3d4e5; theme=dark", f"Cookie: session={MASK}; theme=dark"),
        ("curl -H 'cookie: sid=a1b2c3d4e5' https://h", f"curl -H 'cookie: sid={MASK}' https://h"),
        (
            "Set-Cookie: sid=a1b2c3d4e5; Path=/shopping; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly",
            f"Set-Cookie: sid={MASK}; Path=/shopping; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly",
        ),
        ('{"Cookie": "sid=a1b2c3d4e5"}', f'{{"Cookie": "sid={MASK}"}}'),
        ("https://h/x?sv=1&sig=RQP8Z0qgW89vRKIHhQFG%2Bab%3D&se=2", f"https://h/x?sv=1&sig={MASK}&se=2"),
        ("?X-Amz-Signature=0a1b2c3d4e5f60718293&x=1", f"?X-Amz-Signature={MASK}&x=1"),
        ("root:$6$" + "ZBqsIrL5yjcckBOa$" + "nYWiGU9n2S" * 8 + "abcdef:19000:0", f"root:{MASK}:19000:0"),
        ("bob:$apr1$" + "TiWfoDvh$" + "u1WjkcQFrGix53CVBGKRKB", f"bob:{MASK}"),
        ("bob:$2y$10$" + "abcdefghij" * 5 + "abc", f"bob:{MASK}"),
        ("bob:{SHA}" + "W6ph5Mm5Pz8GgiULbPgzG37mj9g=", f"bob:{MASK}"),
        ("a:$y$j9T$" + "F5Jx5fExrKuPp53xLKQ" + "$" + "abcdefghij" * 4 + "abc:1", f"a:{MASK}:1"),
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
        "docker run --rm -p 8080:80 -p 5432:5432 img && docker compose -p project2 up",
        "docker build -a b22 -w /src && docker login && docker run -p 3000:3000 x",
        "mkdir -p dir2/x; ssh -p 22 h; scp -P 2222 a h:; cp -a dist2 out; grep -w abc1 f; ps -p 4242",
        "curl -w %{http_code} -b jar2.txt; redis-cli -p 6379; nmap -p 80-443 h; tar -xpf a1.tar",
        "id 123e4567-e89b-12d3-a456-426614174000 sha256:" + "0a1b2c3d" * 8,
        "md5 0a1b2c3d4e5f60718293a4b5c6d7e8f9  a.tar.gz; sha1-" + "0a1b2c3d" * 5,
        "cache-key-0a1b2c3d4e5f60718293a4b5c6d7e8f9 and task-key-0a1b",
        "PASS: test_a1 (0.2s) and PASS tests/a1.test.js; TOTAL_PASS=1200 FAIL=0; two_pass=true; pass=12/14",
        "first_pass: 2.5ms, n_pass=1000, second-pass: refine; bypass=1234abcd",
        "the password is required; the password is sha256-hashed; password was changed",
        "a login form with a password field2; default password policy; login bob password required",
        "git@github.com:a/b.git https://bob@dev.azure.com/x https://some-longer-user-name@bitbucket.org/x",
        "Cookie: theme=dark; lang=en-US and the cookie: a small file; cookie: str = 'abcdefghijk'",
        "Set-Cookie: id=$SESSION_ID; SameSite=Strict; Path=/var/lib/longpath1",
        "echo $1$2 costs $5$ and ${6} s/$1$abc/$2/ {SHA}",
        "sig=12 and &sig=short; signature=sig1; secret_key_name secret_santa",
        "at 12345678:AAA in key-value; dapi and dp.pt.x; SKU1234; hvs.1; 0123456789:AAPL",
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
        " -a b22", "docker login -p ", "redis-cli -a", "Cookie: ", "cookie: a=b;", "cookie: a",
        "set-cookie:a=",
        "machine a ", "machine ", "login a ", "password is ", "my_pass", "_PASS=", "htpasswd -b ",
        "htpasswd -b a", "echo a:", "echo a:bcd", "hvs.", "a1", "0", "dp.pt.", "a1B2c3D4e5F6g7.atlasv1.",
        "$6$a", "$y$a$", "$argon2id$v=1$", "://", "://a1b2c3d4e5f6g7h8i9j0k", "?sig=", "&sig=a",
        "12345678:AA", "AGE-SECRET-KEY-1", "secret_a",
    ],
)  # fmt: skip
def test_the_work_grows_with_the_text_only(unit: str) -> None:
    def seconds(text: str) -> float:
        begun = time.process_time()
        mask_secrets(text)
        return time.process_time() - begun

    small, large = (unit * (size // len(unit)) for size in (10_000, 80_000))
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


@pytest.mark.parametrize(
    "text",
    [
        "Пароль: {}",
        "密码：{}",
        "密码是{}。",
        "パスワードは {} です",
        "비밀번호는 {}입니다",
        "كلمة المرور: {}",
        "รหัสผ่าน: {}",
        "Hasło: {}",
        "senha = {}",
        "Mot secret\u00a0: «{}»",
        "La password è {}",
        "Wachtwoord:\n{}",
        "- **Lösenord:** `{}`",
        '{{"пароль": "{}"}}',
    ],
)
@pytest.mark.parametrize("secret", ["Kestrel-harbour-77", "tide!quay_19", "Qx7vT2mR9bLz4", "Pier#Nine9"])
def test_a_value_nobody_speaks_behind_the_word_that_names_it_is_masked_in_any_language(
    text: str, secret: str
) -> None:
    assert mask_secrets(text.format(secret)) == text.format(MASK)


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("пароль: {}", "Тигр2024!"),
        ("密码是 {}", "Xy9kQw22Lp"),
        ("lösenord: {}", "Qx92klPp"),
        ("Пароль от базы — {}", "Kx9vQ2mmT1"),
        ("the token is {} here", "9f8e7d6c5b4a39281706f5e4"),
        ("set the api key to {}", "9f8e7d6c5b4a39281706f5e4d3c2"),
        ("the secret key {}", "wJalrXUtn7EMIK7MDENGbPx8fiCY"),
        ("2FA code seed: {}", "JBSWY3DPEHPK3PXPJBSW"),
        (
            "Seed phrase: {}",
            "abandon ability able about above absent absorb abstract absurd abuse access accident",
        ),
    ],
)
def test_what_is_said_to_be_a_secret_is_masked(text: str, secret: str) -> None:
    assert mask_secrets(text.format(secret)) == text.format(MASK)


@pytest.mark.parametrize(
    "text",
    [
        "Commit: 3f23bb7a9c0d1e2f3a4b5c6d7e8f90a1b2c3d4e5",
        "Id: 0F8FAD5B-D9CB-469F-A165-70867728950E",
        "версия: Release-2.10.3-beta1",
        "文件：tui_app/Session-search-77.py",
        "ctx: CanvasRenderingContext2D",
        "values: Int64Array",
        "license: BSD-3-Clause",
        "test: test_Harbour_case-77",
        "время: 2026-01-09T10:22:31Z",
        "почта: Kestrel77@harbour-mail.example",
        "image: Harbour-tide:Build-77",
        "fonction: HarbourTide_read_77",
        "ETag => W/Kestrel-harbour-77",
        "we look at Kestrel-harbour-77 in the list of ships and go on",
        "backupFileName: 97f579074d1d59ad@v1",
        "the token is expired after 1200000 milliseconds",
        "a secret test_of_token_counting_128000_200000_window",
        "the key tui_app/agent/Provider2/models128/keys33",
        "the key 97f579074d1d59ad/97f579074d1d59ad",
        "Пароль неверный, попыток 3",
        "mot de passe: requis",
        "the seed phrase is shown once and never again on the page",
    ],
)
def test_what_is_built_like_something_else_is_no_value_of_a_secret(text: str) -> None:
    assert mask_secrets(text) == text
