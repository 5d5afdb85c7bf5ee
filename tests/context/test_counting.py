"""Counting: texts, messages, running tallies, attachments and the cost of a response."""

import base64
import gc
import random
import subprocess
import sys
import threading
from dataclasses import replace
from importlib import resources

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage
from tiktoken.load import load_tiktoken_bpe
from tiktoken_ext import openai_public

from tests.context.governor_kit import Provider, WordCounter, plain_counter, rig, run, tokens
from tests.context.histories import as_items, long_conversation
from tests.examples import examples
from tui_app.agent.offline.model import OfflineModel
from tui_app.context.counting import encodings
from tui_app.context.counting.attachments import file_content
from tui_app.context.counting.encodings import PIECE_CHARS, TextCounter, encoding_name, estimate
from tui_app.context.counting.image_tokens import IMAGE_TOKENS
from tui_app.context.counting.prices import answer_cost
from tui_app.context.counting.tally import MessageWeight, Tally, is_silent_truncation
from tui_app.context.counting.tokens import (
    MESSAGE_OVERHEAD,
    TOOL_OVERHEAD,
    TokenCounter,
    part_costs,
    to_json_text,
)
from tui_app.context.history import ListHistory, RunningCount, same_objects, sizes_of
from tui_app.context.policy import PRESETS, SLIDING_WINDOW, Recent
from tui_app.context.requests.builder import usage_as_sent
from tui_app.context.views.cuts import boundary_of
from tui_app.events import CompactionStart
from tui_app.usage import CATEGORIES, Breakdown, ContextUsage, ContextWindow, Growth, Kinds, Overhead

# Counting messages: every part type, in its category, exactly once.


FRAME = MESSAGE_OVERHEAD


@pytest.fixture
def words() -> WordCounter:
    return WordCounter()


@pytest.fixture
def counter(words) -> TokenCounter:
    return TokenCounter(words)


def nonzero(breakdown: Breakdown) -> dict[str, int]:
    return {name: getattr(breakdown, name) for name in CATEGORIES if getattr(breakdown, name)}


def test_parts_of_a_request_are_framed_each_and_of_a_response_once(counter) -> None:
    request = ModelRequest(
        parts=[ToolReturnPart("a", "x", tool_call_id="1"), ToolReturnPart("b", "y", tool_call_id="2")]
    )
    response = ModelResponse(parts=[ThinkingPart("x"), TextPart("y")])
    assert nonzero(counter.message(request)) == {"tool_results": 2 * (1 + FRAME)}
    assert nonzero(counter.message(response)) == {"thinking": 1 + FRAME, "assistant": 1}
    assert counter.message(ModelResponse(parts=[])) == Breakdown()
    emptied = ModelResponse(parts=[ThinkingPart(""), TextPart("y")])
    assert nonzero(counter.message(emptied)) == {"assistant": 1 + FRAME}, "an emptied thought is not sent"


def test_metadata_and_instructions_of_a_message_are_not_counted(counter, words) -> None:
    bare = ModelRequest(parts=[UserPromptPart("hello there")])
    laden = replace(bare, metadata={"plimsoll": {"seq": 7, "note": "never sent"}}, instructions="be brief")
    result = ToolReturnPart("grep", "x", tool_call_id="1", metadata={"huge": "y " * 500})
    assert counter.message(laden) == counter.message(bare)
    assert counter.message(ModelRequest(parts=[result])).total == 1 + FRAME
    assert not any("never" in text or "brief" in text for text in words.asked)


def test_a_message_is_counted_once(counter, words) -> None:
    message = ModelRequest(parts=[UserPromptPart("one two")])
    twin = ModelRequest(parts=[UserPromptPart("one two")])
    first = counter.message(message)
    assert counter.message(message) is first
    assert words.asked == ["one two"]
    counter.message(twin)
    assert words.asked == ["one two"] * 2


def test_loading_the_tokenizer_counts_anew(counter, words) -> None:
    message = ModelRequest(parts=[UserPromptPart("one two")])
    tool = ToolDefinition(name="grep", description="find it")
    before = counter.message(message).user, counter.instructions("be brief"), counter.tools([tool])
    words.ready = True
    after = counter.message(message).user, counter.instructions("be brief"), counter.tools([tool])
    assert before[0] == 2 + FRAME
    assert after[0] == 20 + FRAME
    assert all(new > old for new, old in zip(after, before, strict=True))


def test_the_cache_keeps_no_message_alive(counter) -> None:
    kept = ModelRequest(parts=[UserPromptPart("stay")])
    counter.message(kept)
    for number in range(500):
        counter.message(ModelRequest(parts=[UserPromptPart(f"message {number}")]))
    gc.collect()
    assert list(counter._messages) == [id(kept)]


def test_a_reused_identity_is_not_mistaken(counter) -> None:
    for number in range(200):
        message = ModelRequest(parts=[UserPromptPart("word " * number)])
        assert counter.message(message).user == number + FRAME
        del message


def test_tools_count_their_schemas_once(counter, words) -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "where it is"}}}
    small = ToolDefinition(name="ls")
    large = ToolDefinition(name="ls", description="list", parameters_json_schema=schema)
    assert counter.tools([]) == 0
    assert counter.tools([large]) > counter.tools([small]) > TOOL_OVERHEAD
    asked = len(words.asked)
    assert counter.tools([small, replace(large)]) == counter.tools([small]) + counter.tools([large])
    assert len(words.asked) == asked
    assert any("where it is" in text for text in words.asked)


def test_exact_only_with_the_models_own_tokenizer() -> None:
    own, foreign = TextCounter("o200k_base"), TextCounter(None)
    assert not TokenCounter(own).exact
    own.load()
    foreign.load()
    assert TokenCounter(own).exact
    assert not TokenCounter(foreign).exact


def test_real_counts_of_other_scripts() -> None:
    text = TextCounter("o200k_base")
    text.load()
    message = ModelRequest(parts=[ToolReturnPart("read", {"text": "今天天气很好 — ça va"}, tool_call_id="1")])
    [(_, tokens)] = part_costs(message.parts[0], text, unknown="user")
    assert tokens == text.count('{"text":"今天天气很好 — ça va"}')
    assert to_json_text({"a": "é"}) == '{"a":"é"}'


def test_what_every_request_carries_is_counted_without_any_factor(words) -> None:
    tool = ToolDefinition(name="read", description="Read a file.")
    plain, scaled = TokenCounter(words), TokenCounter(words, 2.0)
    carried = plain.overhead("be brief " * 20, [tool])
    assert (carried.system, carried.tools) == (plain.instructions("be brief " * 20), plain.tools([tool]))
    assert scaled.overhead("be brief " * 20, [tool]) == carried


def test_a_total_is_the_sum_of_all_categories() -> None:
    parts = Breakdown(**{name: 2**place for place, name in enumerate(CATEGORIES)})
    assert parts.total == 2 ** len(CATEGORIES) - 1


# Counting text: the same numbers as tiktoken, without a network, for any text.


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
    """The encodings of tiktoken itself, loaded from the ranks we ship."""
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
    _, pattern = encodings._SPECS[name]
    assert pattern == reference[name]._pat_str
    built = encodings._build(name)
    ranks = reference[name]._mergeable_ranks
    assert [built.decode_single_token_bytes(rank) for rank in ranks.values()] == list(ranks)


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
    monkeypatch.setitem(encodings._SPECS, "cl100k_base", ("0" * 64, "."))
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


# Policies that count messages count them as sent: the results of one response are one message.


def fanned(turns: int, calls: int = 5) -> list[ModelMessage]:
    """Build turns with several results, each in a message of its own, as in our log."""
    history: list[ModelMessage] = []
    for turn in range(turns):
        ids = [f"{turn}-{place}" for place in range(calls)]
        history.append(ModelRequest(parts=[UserPromptPart(f"look {turn}")]))
        history.append(ModelResponse(parts=[ToolCallPart("ls", {}, name) for name in ids]))
        history += [ModelRequest(parts=[ToolReturnPart("ls", "x", name)]) for name in ids]
        history.append(ModelResponse(parts=[TextPart(f"seen {turn}")]))
    return history


def test_what_is_counted() -> None:
    view = ListHistory(plain_counter())
    view.sync(fanned(3))
    assert view.usage().messages == 24
    assert usage_as_sent(view, PRESETS["sliding-window"]).messages == 12


@pytest.mark.parametrize(("messages", "stays"), [(4, 8), (5, 9), (8, 16), (100, 24)])
def test_what_stays(messages: int, stays: int) -> None:
    items = as_items(fanned(3))
    assert len(items) - boundary_of(items, Recent(messages=messages), tokens) == stays


@pytest.mark.parametrize(("turns", "starts"), [(9, 0), (10, 1)])
async def test_when_the_sliding_window_compacts(turns: int, starts: int) -> None:
    made = rig(Provider(100_000), SLIDING_WINDOW)
    await run(made, fanned(turns))
    assert len(made.heard.of(CompactionStart)) == starts


# The running tally, the window's usage, and the sizes derived from both.


WINDOW = ContextWindow(limit=10_000, source="setting", reserve=1_000)


def tally(*weighed: MessageWeight) -> Tally:
    counted = Tally()
    for one in weighed:
        counted.add(one)
    return counted


def user(key: int, count: int) -> MessageWeight:
    return MessageWeight(key, Breakdown(user=count))


def answer(key: int, count: int, reported: int) -> MessageWeight:
    return MessageWeight(key, Breakdown(assistant=count), reported, "m")


def test_without_a_report_the_count_counts() -> None:
    usage = tally(user(1, 100), user(2, 50)).usage(
        Overhead(WINDOW, Breakdown(tools=30), factor=2.0), model="m"
    )
    assert (usage.total, usage.exact, usage.messages) == (360, False, 2)
    assert usage.parts.tools == 60


def test_a_report_plus_what_came_after() -> None:
    counted = tally(user(1, 100), answer(2, 50, 400), user(3, 10))
    usage = counted.usage(Overhead(WINDOW, Breakdown(), factor=1.5), model="m")
    assert usage.total == 415
    assert usage.unmeasured == 415 - 240
    assert not usage.exact
    assert tally(user(1, 100), answer(2, 50, 400)).usage(Overhead(WINDOW), model="m").exact
    assert counted.usage(Overhead(WINDOW), model="m", counter_exact=True).exact


def test_a_report_below_the_count_scales_the_parts() -> None:
    usage = tally(user(1, 300), answer(2, 100, 200)).usage(Overhead(WINDOW), model="m")
    assert usage.total == 200
    assert (usage.parts.user, usage.parts.assistant, usage.unmeasured) == (150, 50, 0)


def test_the_scale_of_single_messages_is_that_of_the_parts() -> None:
    view = (user(1, 300), answer(2, 100, 200))
    assert tally(*view).usage(Overhead(WINDOW), model="m").scale == 0.5
    assert tally(*view).usage(Overhead(WINDOW, Breakdown(), factor=1.5), model="n").scale == 1.5
    assert tally(user(1, 10), answer(2, 10, 90)).usage(Overhead(WINDOW), model="m").scale == 1.0


def picture(key: int, count: int, said: int = 0) -> MessageWeight:
    return MessageWeight(key, Breakdown(user=said, attachments=count, pictured=count))


@pytest.mark.parametrize("growth", [None, Growth(1.5, 0.1, 3.0)])
def test_pictures_keep_the_figure_of_their_vendor(growth: Growth | None) -> None:
    """The factor learned from text does not apply to images, before the first report or after."""
    fixed = Breakdown(tools=100)
    new = tally(picture(1, 1_000, 40)).usage(Overhead(WINDOW, fixed, factor=1.5, growth=growth), model="m")
    assert (new.parts.attachments, new.parts.user, new.total) == (1_000, 60, 1_210)
    counted = tally(user(1, 100), MessageWeight(2, Breakdown(assistant=50), 400, "m", 80), picture(3, 1_000))
    behind = counted.usage(Overhead(WINDOW, fixed, factor=1.5, growth=growth), model="m")
    assert behind.total == pytest.approx(1_400, abs=60)
    assert behind.parts.attachments == 1_000
    # A rewritten view: the image and the prompt stay, the text before them is gone.
    counted = tally(user(1, 2_000), picture(2, 1_000), answer(3, 50, 4_225), user(4, 10))
    counted.reset([picture(2, 1_000), user(4, 10)], trusted=(9).__le__, newest=counted.newest)
    after = counted.usage(Overhead(WINDOW, fixed, factor=1.5), model="m")
    assert after.total == pytest.approx(1_165, abs=3)
    # A report below the count scales everything down, images included.
    low = tally(picture(1, 900), answer(2, 100, 500)).usage(Overhead(WINDOW), model="m")
    assert (low.parts.attachments, low.parts.assistant, low.total) == (450, 50, 500)


def test_the_text_of_a_file_is_text(words: WordCounter) -> None:
    counter = TokenCounter(words)
    file = file_content("a.txt", "one two three")
    prompt = [file, BinaryContent(b"\x89PNG", media_type="image/png")]
    counted = counter.message(ModelRequest(parts=[UserPromptPart(prompt)]))
    assert counted.attachments == words.count(file.content) + IMAGE_TOKENS
    assert counted.pictured == IMAGE_TOKENS
    assert counter.part(UserPromptPart(prompt), "user") == counted.attachments
    assert counted.user == MESSAGE_OVERHEAD


def test_the_report_of_another_model_does_not_count() -> None:
    assert tally(user(1, 100), answer(2, 50, 900)).usage(Overhead(WINDOW), model="n").total == 150


def test_reports_from_before_a_rewrite_do_not_count() -> None:
    counted = Tally()
    view = [user(1, 100), answer(2, 50, 900), user(9, 10)]
    counted.reset(view, trusted=(3).__le__)
    assert counted.usage(Overhead(WINDOW), model="m").total == 160
    counted.reset(view, trusted=(2).__le__)
    assert counted.usage(Overhead(WINDOW), model="m").total == 910
    assert counted.messages == 3


def test_a_report_far_below_the_count_is_not_believed() -> None:
    counted = tally(user(1, 4_000), answer(2, 10, 2_000))
    usage = counted.usage(Overhead(WINDOW), model="m")
    assert usage.total == 4_010
    assert not usage.exact
    assert is_silent_truncation(4_000, 2_000)
    assert not is_silent_truncation(1_999, 10)


def test_an_empty_view_is_initial() -> None:
    assert Tally().usage(Overhead(WINDOW, Breakdown(system=5)), model="m").is_initial


def test_usage_as_json() -> None:
    usage = ContextUsage(parts=Breakdown(user=9_500), window=WINDOW, messages=3, unmeasured=20)
    data = usage.to_json()
    assert data["total"] == 9_520
    assert data["utilization"] == 0.952
    assert (data["limit"], data["reserve"], data["limit_source"]) == (10_000, 1_000, "setting")
    assert WINDOW.effective == 9_000


@pytest.mark.parametrize(
    ("parts", "unmeasured", "carried", "scale"),
    [
        (Breakdown(system=130, user=60, assistant=40), 0, 100, 1.0),
        (Breakdown(system=65, user=30, assistant=20), 0, 50, 0.5),
        (Breakdown(system=130, user=60, assistant=40), 130, 100, 2.0),
    ],
)
def test_sizes_divide_the_estimate(parts: Breakdown, unmeasured: int, carried: int, scale: float) -> None:
    items = as_items(
        [
            ModelRequest(parts=[SystemPromptPart("s" * 104)]),
            ModelRequest(parts=[UserPromptPart("u" * 224)]),
            ModelResponse(parts=[TextPart("a" * 144)]),
        ]
    )
    assert [tokens(item) for item in items] == [30, 60, 40]
    usage = ContextUsage(parts=parts, window=WINDOW, messages=3, unmeasured=unmeasured)
    sizes = sizes_of(items, usage, tokens)
    assert sizes.carried == carried
    assert sizes.scale == pytest.approx(scale)
    assert sizes.carried + sizes.estimate(130) == usage.total


def test_sizes_of_nothing() -> None:
    usage = ContextUsage(parts=Breakdown(), window=WINDOW, messages=0)
    assert sizes_of([], usage, tokens).carried == 0


@pytest.mark.parametrize("reported", [300, 700, 1_050, 2_000])
@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_a_rewritten_view_is_measured_on_the_scale_of_the_report_that_was_dropped(
    reported: int, factor: float
) -> None:
    """What is smaller by our count must be smaller on the gauge, whatever the provider counts."""
    fixed, long = Breakdown(tools=100), [user(1, 700), answer(2, 50, reported)]
    counted = tally(*long)
    before = counted.usage(Overhead(WINDOW, fixed, factor=factor), model="m")
    assert before.total == pytest.approx(reported, abs=2)
    counted.reset([user(1, 400), answer(2, 50, reported)], trusted=(3).__le__, newest=counted.newest)
    after = counted.usage(Overhead(WINDOW, fixed, factor=factor), model="m")
    assert after.total < before.total
    assert not after.exact
    counted.reset(long, trusted=(4).__le__, newest=counted.newest)
    again = counted.usage(Overhead(WINDOW, fixed, factor=factor), model="m")
    assert again.total == pytest.approx(reported, abs=3)
    assert counted.usage(Overhead(WINDOW, fixed, factor=factor), model="n").total == pytest.approx(
        850 * factor, abs=2
    )


def test_a_low_report_of_a_small_view_says_little_of_a_large_one() -> None:
    counted = tally(user(1, 1_000), answer(2, 0, 300))
    counted.reset([user(1, 20_000)], trusted=(3).__le__, newest=counted.newest)
    assert counted.usage(Overhead(WINDOW), model="m").total == 12_000


def test_hidden_thoughts_are_not_multiplied_with_a_view_that_comes_back() -> None:
    counted = tally(user(1, 100), answer(2, 50, 5_000))
    counted.reset([user(1, 6_000)], trusted=(3).__le__, newest=counted.newest)
    assert counted.usage(Overhead(WINDOW), model="m").total == 6_000 + 4_850


def test_adding_behind_a_rewrite_adds_what_is_counted() -> None:
    counted = tally(user(1, 1_000), answer(2, 0, 800))
    counted.reset([user(1, 500)], trusted=(3).__le__, newest=counted.newest)
    assert counted.usage(Overhead(WINDOW), model="m").total == 400
    counted.add(user(4, 100))
    assert counted.usage(Overhead(WINDOW), model="m").total == 480
    counted.add(answer(5, 10, 450))
    assert counted.usage(Overhead(WINDOW), model="m").total == 450


def test_a_rewrite_takes_its_own_kinds_of_text_off_the_report() -> None:
    """A server counting 1.4 per token of text, 1.5 of a result and 8 of a call (ids, signatures, markup)."""
    fixed, growth = Breakdown(tools=500), Growth(1.4, 0.1, 8.0)

    def told(said: int, results: int, calls: int) -> int:
        return round(1.6 * 500 + 1.4 * said + 1.5 * results + 8 * calls)

    turns = [
        user(1, 50),
        MessageWeight(2, Breakdown(tool_calls=30)),
        MessageWeight(3, Breakdown(tool_results=600)),
        MessageWeight(4, Breakdown(tool_calls=30)),
        MessageWeight(5, Breakdown(tool_results=600)),
        MessageWeight(6, Breakdown(assistant=100), told(50, 1_200, 60) + 70, "m", 70),
    ]
    mean = told(150, 1_200, 60) / (500 + 1_410)
    for left, size in ((turns[3:], told(100, 600, 30)), (turns[::2] + turns[1::4], told(150, 1_200, 30))):
        counted = tally(*turns)
        counted.reset(left, trusted=(9).__le__, newest=counted.newest)
        before = counted.usage(Overhead(WINDOW, fixed, factor=mean), model="m")
        after = counted.usage(Overhead(WINDOW, fixed, factor=mean, growth=growth), model="m")
        assert after.total == pytest.approx(size, rel=0.005)
        assert abs(after.total - size) < abs(before.total - size)
        assert sum(after.breakdown.values()) == after.total
    counted = tally(*turns, user(7, 40))
    said = counted.usage(Overhead(WINDOW, fixed, factor=mean, growth=growth), model="m")
    assert said.total == pytest.approx(told(190, 1_200, 60), rel=0.005), "the answer too, as it is sent back"
    for model, thought, beside in (("m", 120, 9), ("n", 0, 0)):
        thinks = MessageWeight(2, Breakdown(thinking=120, around=9), model=model)
        counted = tally(turns[0], thinks, *turns[2:])
        counted.reset(turns[3:], trusted=(9).__le__, newest=counted.newest)
        known = counted.usage(Overhead(WINDOW, fixed, factor=mean, growth=growth), model="m")
        gone = told(150, 1_200, 60) - growth.of(Kinds(50 + 600 + thought, 600, 0, 0, thought, beside))
        assert known.total == pytest.approx(gone, abs=2), "another model's thoughts were sent to nobody"
    for strange in (4, 12):
        # Another model's calls are encoded differently, so a token of them is not 8.
        more = (strange - 8) * 30
        last = replace(turns[5], reported=turns[5].reported + more)
        counted = tally(turns[0], replace(turns[1], model="n"), *turns[2:5], last)
        counted.reset([*turns[3:5], last], trusted=(9).__le__, newest=counted.newest)
        without, known = (
            counted.usage(Overhead(WINDOW, fixed, factor=mean, growth=each), model="m").total
            for each in (None, growth)
        )
        size = told(100, 600, 30)
        assert known == pytest.approx(size, rel=0.03)
        assert abs(known - size) < abs(without - size)
    counted = tally(*turns, user(7, 40))
    counted.reset([user(8, 2)], trusted=(9).__le__, newest=counted.newest)
    least = counted.usage(Overhead(WINDOW, fixed, factor=mean), model="m").total / 1.3
    wild = counted.usage(Overhead(WINDOW, fixed, factor=mean, growth=Growth(4.0, 0.0, 40.0)), model="m")
    assert wild.total == pytest.approx(least, abs=3), "whatever was learnt, its share bounds it"


# Counting consecutive requests examines only what is new.


class Asked(TokenCounter):
    """Records how often it counted a message."""

    times = 0

    def message(self, message: ModelMessage) -> Breakdown:
        self.times += 1
        return super().message(message)


def said(text: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def counted(messages: list[ModelMessage]) -> int:
    return sum(plain_counter().message(message).total for message in messages)


def test_same_objects_are_told_from_equal_ones() -> None:
    one, other = said("a"), said("a")
    assert one is not other
    assert same_objects([one, one], [one, other]) == 1
    assert same_objects([one], [one, other]) == 1
    assert same_objects([], [one]) == same_objects([other], [one]) == 0


def test_only_what_is_new_is_counted() -> None:
    counter = Asked(plain_counter()._text)
    count = RunningCount(counter)
    history = long_conversation(30)
    assert count.kinds(history).tokens == counted(history)
    before = counter.times
    longer = [*history, said("one more")]
    assert count.kinds(longer).tokens == counted(longer)
    assert counter.times == before + 1


def test_a_request_that_was_cut_is_counted_again_from_where_it_differs() -> None:
    count = RunningCount(plain_counter())
    history = long_conversation(10)
    count.kinds(history)
    cut = [history[0], *history[7:]]
    assert count.kinds(cut).tokens == counted(cut)
    assert count.kinds([]).tokens == 0
    assert count.kinds(history).tokens == counted(history)


def test_with_the_tokenizer_everything_is_counted_again() -> None:
    counter = plain_counter()
    count = RunningCount(counter)
    history = long_conversation(10)
    plain = count.kinds(history).tokens
    counter._text.load()
    assert count.kinds(history).tokens != plain


# The cost of a response, if its price is known.


def prices_answer(model: str | None, tokens: int) -> ModelResponse:
    usage = RequestUsage(input_tokens=tokens, output_tokens=tokens)
    return ModelResponse([TextPart("x")], usage=usage, model_name=model, provider_name="openai")


def test_a_listed_model_has_a_price() -> None:
    price = answer_cost(prices_answer("gpt-4o", 1_000_000))
    assert price is not None
    assert price > 1


async def test_the_built_in_assistant_is_free() -> None:
    request = [ModelRequest([UserPromptPart("hi")])]
    parameters = ModelRequestParameters(function_tools=[ToolDefinition(name="grep")])
    model = OfflineModel()
    assert answer_cost(await model.request(request, None, parameters)) == 0.0
    async with model.request_stream(request, None, parameters) as stream:
        async for _ in stream:
            pass
    assert answer_cost(stream.get()) == 0.0


@pytest.mark.parametrize(("model", "tokens"), [("gpt-4o", 0), ("no-such-model", 100), (None, 100)])
def test_unknown_prices_are_no_zero(model: str | None, tokens: int) -> None:
    assert answer_cost(prices_answer(model, tokens)) is None
