"""Text counting: the same numbers as tiktoken, with no network, whatever the text."""

import base64
import random
import subprocess
import sys
import threading
from importlib import resources

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public

from tests.examples import examples
from tui_app.context.counting import encodings
from tui_app.context.counting.encodings import PIECE_CHARS, TextCounter, encoding_name, estimate

NAMES = ("o200k_base", "cl100k_base")
TEXTS = (
    "",
    "Hello, world! It's a plain sentence; isn't it?",
    "def f(x):\n\treturn {'a': [1, 2, 3]}\n\n\n    # comment\r\n" * 50,
    "<|endoftext|> and <|fim_prefix|> are ordinary here <|endofprompt|>",
    "Привет, как дела? Ça va très bien, naïve café — “quoted”…",
    "今天天气很好，我们去公园散步吧。こんにちは世界。안녕하세요",
    "👩‍👩‍👧‍👦 🎉🚀 e\u0301 नमस्ते مرحبا",
    "   \t\t  \n \n\n   x   \u00a0\u2003 y\x1c z",
    "lone \ud83d surrogate \udc00",
    "=" * 2_000,
    base64.b64encode(bytes(range(256)) * 40).decode(),
)


@pytest.fixture(scope="session")
def reference() -> dict[str, tiktoken.Encoding]:
    """The definitions of tiktoken itself, fed from the shipped ranks."""
    folder = resources.files("tui_app.context.data")

    def local(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        with resources.as_file(folder.joinpath(url.rsplit("/", 1)[-1])) as path:
            return load_tiktoken_bpe(str(path), expected_hash)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", local)
        return {
            name: tiktoken.Encoding(**constructor())
            for name, constructor in openai_public.ENCODING_CONSTRUCTORS.items()
            if name in NAMES
        }


@pytest.fixture(scope="session")
def counters() -> dict[str, TextCounter]:
    made = {name: TextCounter(name) for name in NAMES}
    for counter in made.values():
        counter.load()
    return made


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o", "o200k_base"),
        ("openai:gpt-5-mini", "o200k_base"),
        ("openai-chat:gpt-4.1-nano", "o200k_base"),
        ("openai:o3", "o200k_base"),
        ("openai:o4-mini-2025-04-16", "o200k_base"),
        ("openai:gpt-5.6-turbo", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("openrouter:openai/gpt-4o:free", "o200k_base"),
        ("openai:ft:gpt-4o-mini:acme::abc", "o200k_base"),
        ("groq:openai/gpt-oss-120b", "o200k_base"),
        ("ollama:gpt-oss:20b", "o200k_base"),
        ("OPENAI:GPT-4O", "o200k_base"),
        ("openai:gpt-4", "cl100k_base"),
        ("openai:gpt-4-turbo-2024-04-09", "cl100k_base"),
        ("azure:gpt-35-turbo-16k", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("anthropic:claude-sonnet-4-5", None),
        ("google:gemini-3-pro", None),
        ("ollama:llama3.1:8b", None),
        ("openrouter:mistralai/mistral-large", None),
        ("vllm:gpt4all-j", None),
        ("olmo-2", None),
        ("offline:extractive", None),
        ("", None),
    ],
)
def test_encoding_of_a_model(model: str, expected: str | None) -> None:
    assert encoding_name(model) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_counts_equal_tiktoken(name, text, reference, counters) -> None:
    assert counters[name].count(text) == len(reference[name].encode_ordinary(text))


@pytest.mark.parametrize("name", NAMES)
def test_definitions_equal_tiktoken(name, reference) -> None:
    ours = encodings._SPECS[name]
    assert ours.pattern == reference[name]._pat_str
    assert dict(ours.special) == reference[name]._special_tokens
    built = encodings._build(name)
    ranks = reference[name]._mergeable_ranks
    assert [built.decode_single_token_bytes(rank) for rank in ranks.values()] == list(ranks)
    assert built.n_vocab == reference[name].n_vocab


def long_text(seed: int, alphabet: tuple[str, ...]) -> str:
    chance = random.Random(seed)
    return "".join(chance.choice(alphabet) for _ in range(40_000))


ALPHABETS = (
    (
        "word ",
        "Word",
        " the",
        "\n",
        "\n\n",
        "  ",
        "    ",
        ", ",
        ". ",
        "don't",
        "it's ",
        "_x",
        "(a)",
        "/",
        ";\n/",
    ),
    ("\r\n", "\n", "\t", " \n", "/*", "*/", "{", "}", "123456", "x_y", "'s", "'", "é", "…", "—"),
    ("今天", "天气", "，", "。", "我们", "！", "？", "「好」", "a", "1", "\n"),
    ("SGVsbG8", "gV29", "bGQ", "+", "/", "=="),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("alphabet", ALPHABETS, ids=("prose", "code", "chinese", "base64"))
@pytest.mark.parametrize("seed", [1, 2])
def test_pieces_change_no_count(name, alphabet, seed, reference, counters) -> None:
    text = long_text(seed, alphabet)
    assert len(text) > PIECE_CHARS
    assert counters[name].count(text) == len(reference[name].encode_ordinary(text))


@settings(max_examples=examples(150), deadline=None)
@given(
    left=st.text(max_size=30), right=st.text(max_size=30), joint=st.sampled_from([" ", "\n", ", x", ";\n/ y"])
)
def test_a_cut_never_changes_a_count(left, right, joint, counters) -> None:
    text = left + joint + right
    for counter in counters.values():
        whole = counter.count(text)
        for cut in encodings._CUT.finditer(text):
            assert counter.count(text[: cut.end()]) + counter.count(text[cut.end() :]) == whole


@pytest.mark.parametrize("unit", ["a", "中", "=", "9"])
def test_an_endless_word_is_off_by_a_few_tokens_per_piece(unit, reference, counters) -> None:
    text = unit * 200_000
    exact = len(reference["o200k_base"].encode_ordinary(text))
    assert abs(counters["o200k_base"].count(text) - exact) <= 8 * (len(text) // PIECE_CHARS + 1)


@pytest.mark.parametrize(
    "text", [" " * 1_050_000, "\n" * 1_050_000, "a" * 1_000_000], ids=["blank", "line", "a"]
)
def test_a_million_equal_characters_are_counted(text, counters) -> None:
    for counter in counters.values():
        assert 1_000 < counter.count(text) < len(text)


def test_before_loading_counts_are_estimates() -> None:
    counter = TextCounter("o200k_base")
    assert (counter.loaded, counter.exact) == (False, False)
    assert counter.count("12345") == 2
    assert counter.count("") == 0
    counter.load()
    assert (counter.loaded, counter.exact) == (True, True)
    assert counter.count("12345") == 2
    assert counter.count("hello world") == 2


@pytest.mark.parametrize("text", TEXTS[1:8], ids=range(7))
def test_estimates_are_near_the_truth(text, counters) -> None:
    exact = counters["o200k_base"].count(text)
    assert exact / 2.2 <= estimate(text) <= exact * 2.2


def test_other_scripts_are_not_taken_for_english() -> None:
    assert estimate("今天天气很好") > estimate("abcdef") * 2
    assert estimate("lone \ud83d surrogate") > 0


def test_a_model_of_another_vendor_is_never_exact(counters) -> None:
    counter = TextCounter(None)
    counter.load()
    assert counter.loaded
    assert not counter.exact
    assert counter.count("hello world, hello") == counters["o200k_base"].count("hello world, hello")


def test_unknown_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="p50k_base"):
        TextCounter("p50k_base")


def test_one_tokenizer_per_process(counters) -> None:
    made = [TextCounter("o200k_base") for _ in range(4)]
    threads = [threading.Thread(target=counter.load) for counter in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(counter._encoding) for counter in made} == {id(counters["o200k_base"]._encoding)}


def test_damaged_ranks_are_noticed(monkeypatch) -> None:
    other = encodings._Spec(sha256="0" * 64, pattern=".", special=())
    monkeypatch.setitem(encodings._SPECS, "cl100k_base", other)
    with pytest.raises(RuntimeError, match="damaged"):
        encodings._build.__wrapped__("cl100k_base")


def test_loading_needs_no_network_and_importing_no_tokenizer() -> None:
    script = (
        "import socket, sys\n"
        "def refuse(*args, **kwargs): raise AssertionError('network used')\n"
        "socket.socket.connect = refuse; socket.create_connection = refuse; socket.getaddrinfo = refuse\n"
        "from tui_app.context.counting.encodings import TextCounter\n"
        "assert 'tiktoken' not in sys.modules and 'pydantic_ai' not in sys.modules\n"
        "for name in ('o200k_base', 'cl100k_base'):\n"
        "    counter = TextCounter(name); counter.load(); assert counter.count('hello world') == 2\n"
        "assert 'pydantic_ai' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
