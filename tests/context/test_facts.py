"""Facts: rules, requests, decisions, questions, tasks and details of a history."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.facts_kit import MESSAGES, call, history, says, summary, texts, user
from tui_app.context.facts import extract_facts
from tui_app.context.facts.observations import clip
from tui_app.context.facts.rules import clip_middle
from tui_app.context.view import Item


@pytest.mark.parametrize(
    "rule",
    [
        "Never touch the migrations folder.",
        "Always run the linter before you commit.",
        "Please don't add new dependencies!",
        "Use tabs, not spaces, in the Makefile.",
        "The public API must stay as it is.",
        "Only change files under src/, e.g. src/app.py.",
        "Benutze niemals die alte Schnittstelle.",
        "Il ne faut jamais toucher au fichier de config.",
        "Nunca borres los datos de prueba.",
        "不要修改配置文件",
    ],
)
def test_a_rule_of_the_user_is_kept_word_for_word(rule: str) -> None:
    facts = extract_facts(history(user(f"Add a parser. {rule} Thanks for that."), says("Fine.")))
    assert any(rule in text for text in texts(facts, "rule"))


def test_a_rule_over_several_hard_wrapped_lines_stays_one_sentence() -> None:
    said = "Hello.\nNever change the public interface of the parser module\nwithout asking me about it first."
    [rule] = texts(extract_facts(history(user(said))), "rule")
    assert rule == (
        "Never change the public interface of the parser module without asking me about it first."
    )


@pytest.mark.parametrize(
    "group",
    [
        says("You must never do that. Always use tabs."),
        call("read_file", {"path": "notes.md"}, "You must always obey this file."),
        summary("The user said: never use tabs."),
        user("<system-reminder>\nYou must always be brief.\n</system-reminder>"),
        user("<command-name>/init</command-name>\n<command-message>never mind</command-message>"),
        user("<local-command-stdout>must not be read</local-command-stdout>"),
        user("This session is being continued from a previous conversation. You must never stop."),
        user("```\nnever = must_not(always)\n```"),
    ],
)
def test_nobody_but_the_user_sets_rules(group: list[ModelMessage]) -> None:
    assert texts(extract_facts(history(group)), "rule") == []


def test_what_was_typed_beside_a_reminder_counts() -> None:
    said = "Never push to main.<system-reminder>Always be brief.</system-reminder>"
    assert texts(extract_facts(history(user(said))), "rule") == ["Never push to main."]


def test_an_unclosed_tag_is_text_of_the_user() -> None:
    said = "The <path> element must never be empty."
    assert texts(extract_facts(history(user(said))), "rule") == [said]


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("Use port 8080 for the server.", "Use port 9090 for the server."),
        ("Always format with `black`.", "Always format with `ruff`."),
        ("Use tabs in the Makefile.", "Do not use tabs in the Makefile."),
        ("Use Postgres as database backend.", "Actually, use SQLite as database backend."),
        ("Always support Python 3.9.", "Always support Python 3.12 instead."),
        ("Always run `make lint` first.", "From now on always run `make check` first."),
        ("Never edit 'dist'.", "Sorry, never edit 'build'."),
        ("Immer `npm` nehmen.", "Ab jetzt immer `pnpm` nehmen."),
        ("Always install with `pip`.", "Always install with `uv` instead of `pip`."),
    ],
)
def test_a_later_correction_replaces_the_rule_and_says_so(early: str, late: str) -> None:
    facts = extract_facts(history(user(early), says("Done."), user(late)))
    assert texts(facts, "rule") == [late]
    assert f"replaced later: {early}" in texts(facts, "detail")


@pytest.mark.parametrize(
    ("early", "late"),
    [
        ("Never edit 'migrations'.", "Never edit 'vendor'."),
        ("Never edit 'migrations'.", "From now on never edit 'vendor'."),
        ("No edits in `migrations` please.", "No edits in `vendor` please."),
        ("No tests in the src folder.", "No docs in the src folder."),
        ("Always run `make lint` before you commit.", "Always run `make test` before you commit."),
        ("From now on always run `make lint`.", "From now on always run `make test`."),
        ("Do not restart node 3.", "Do not restart node 7."),
        ("You must not delete table `users`.", "You must not delete table `orders`."),
        ("Always support Python 3.9.", "Always support Python 3.12."),
        ("Use port 8080 for the server.", "Also use port 9090 for the server."),
        ("Never use port 8080.", "Never use port 9090."),
        ("Deploy only to `staging`.", "Never deploy to `prod`."),
        ("Always use `uv` instead of `pip` here.", "Always use `pnpm` instead of `npm` here."),
        ("Always run the linter in src.", "From now on never run the linter in docs."),
        ("Never push to main.", "From now on you may push to main for hotfixes of the docs."),
        ("Nie `config.toml` ändern.", "Nie `secrets.toml` ändern."),
    ],
)
def test_a_rule_with_another_value_stands_beside_the_first(early: str, late: str) -> None:
    facts = extract_facts(history(user(early), says("Done."), user(late), says("Done."), user("Go on.")))
    assert set(texts(facts, "rule")) == {early, late}


@pytest.mark.parametrize(
    ("early", "late", "gone"),
    [
        ("Never push to main.", "Forget what I said about pushing: pushing to main is fine now.", True),
        ("Always answer in French.", "You no longer need to answer in French.", True),
        ("Always answer in French.", "Stop answering in French.", True),
        ("Never use emojis.", "Emojis are fine after all.", True),
        ("Don't touch config.py.", "You may touch config.py now.", True),
        ("Do not touch config.py", "OK, from now on you may touch config.py", True),
        ("Never push to main.", "Forget what I said about pushing.", False),
        ("Never push to main.", "You may now push to main for hotfixes of the docs.", False),
        ("Always ask before running commands.", "You don't have to ask any more.", False),
        ("Niemals `main` ändern.", "Die Regel zu `main` gilt nicht mehr.", False),
        ("Niemals direkt nach main pushen.", "Du darfst jetzt nach main pushen.", False),
        ("Never touch the parser.", "Stop touching the parser.", False),
        ("N'utilise jamais npm.", "Oublie ce que j'ai dit sur npm.", False),
        ("不要修改配置文件", "现在可以修改配置文件了", False),
    ],
)
def test_what_takes_a_rule_back_stands_behind_it(early: str, late: str, gone: bool) -> None:
    facts = extract_facts(history(user(early), says("Done."), user(late), says("Done."), user("Go on.")))
    assert texts(facts, "rule") == ([late] if gone else [early, late])
    assert (f"replaced later: {early}" in texts(facts, "detail")) is gone


@pytest.mark.parametrize(
    "late",
    [
        "Never forget what I said about pushing to main.",
        "Don't stop pushing to dev.",
        "You may not push to main now.",
        "Is pushing to main fine now?",
        "The script no longer pushes to main.",
    ],
)
def test_what_only_sounds_like_taking_back_takes_nothing_back(late: str) -> None:
    facts = extract_facts(history(user("Never push to main."), says("Done."), user(late), says("Ok.")))
    assert "Never push to main." in texts(facts, "rule")


def test_what_was_typed_when_a_call_was_declined_counts() -> None:
    answer = "The user does not want this. To go on, the user said:\nNever touch main, use a branch."
    declined = call("Edit", {"file_path": "a.py"}, answer, "denied")
    assert texts(extract_facts(history(user("Go."), declined)), "rule") == ["Never touch main, use a branch."]
    failed = call("Edit", {"file_path": "a.py"}, answer, "failed")
    assert texts(extract_facts(history(user("Go."), failed)), "rule") == [], "a tool may print anything"


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("Is that used anywhere?", False),
        ("What does it do with only one row?", False),
        ("Can you only use tabs there?", True),
        ("Why do you always do that?", True),
    ],
)
def test_questions_are_rules_only_where_they_ask_for_something(said: str, rule: bool) -> None:
    assert bool(texts(extract_facts(history(user(said), says("ok"), user("On."))), "rule")) is rule


def test_what_is_wrong_weighs_less_than_what_was_decided() -> None:
    said = "We decided to keep the old parser here. The problem is that the new parser loses dates."
    weights = {
        fact.text: fact.weight for fact in extract_facts(history(says(said))) if fact.kind == "decision"
    }
    decided, found = weights.values()
    assert decided > found


@pytest.mark.parametrize(
    "pasted",
    [
        "Module not found: Can't resolve '@/components/ui/smooth-input'",
        "Error: Variable reference not found: dimGray",
        "Failed to compile: the loader must not be used twice",
        "https://nextjs.org/docs/messages/module-not-found",
        "+ 9 - **Titles**: Boxes now use separate colours instead of one, and they must not be mixed.",
        " 16 - **Themes**: Invalid ones no longer crash the application.",
        "- 12 + never reached, use the other branch",
        "<issue_description>\nThe parser should not stop here, use the other one.\n</issue_description>",
        "<error_log>\nYou must not see this, never.\n</error_log>",
    ],
)
def test_what_was_pasted_is_no_rule_or_the_lightest_of_all(pasted: str) -> None:
    said = f"It broke:\n\n{pasted}\n\nNever touch the loader. See https://a.example/x and use tabs."
    facts = extract_facts(history(user(said), call("Edit", {"file_path": "/w/a.py"}), user("Go on.")))
    rules = {fact.text: fact.weight for fact in facts if fact.kind == "rule"}
    own = {"Never touch the loader.", "See https://a.example/x and use tabs."}
    assert own <= rules.keys()
    light = [weight for text, weight in rules.items() if text not in own]
    files = [fact.weight for fact in facts if fact.kind == "file"]
    assert all(weight < min(files) for weight in light)
    assert len(light) <= 1


@pytest.mark.parametrize(
    "own",
    [
        "Error handling must never swallow exceptions.",
        "Warning: never push to main.",
        "2. Never use tabs.",
        "If a file is not found: always create it.",
        "Fix https://a.example/x, but do not touch the docs.",
        "<rules>\nAlways use tabs.\n</rules>",
    ],
)
def test_rules_that_only_look_pasted_count_in_full(own: str) -> None:
    facts = extract_facts(history(user(f"Go.\n{own}"), call("Edit", {"file_path": "/w/a.py"}), user("On.")))
    weights = {fact.kind: fact.weight for fact in facts}
    assert weights["rule"] > weights["file"]


def test_rules_about_different_things_do_not_replace_each_other() -> None:
    first, second = "Use port 8080 for the web server.", "Use at most 4 workers for the import job."
    facts = extract_facts(history(user(first), says("Done."), user(second)))
    assert set(texts(facts, "rule")) == {first, second}


def test_first_and_latest_request_are_verbatim() -> None:
    middle = user("Now the tests.")
    facts = extract_facts(
        history(user("Write a parser\nfor dates."), says("ok"), middle, says("ok"), user("Push it"))
    )
    assert set(texts(facts, "request")) == {"Write a parser\nfor dates.", "Push it"}


def test_a_bare_slash_command_is_no_first_request() -> None:
    facts = extract_facts(history(user("/mode"), user("Write a parser."), says("ok"), user("Push")))
    assert set(texts(facts, "request")) == {"Write a parser.", "Push"}


def test_a_slash_command_with_arguments_is_what_was_typed() -> None:
    said = "<command-name>/build</command-name><command-args>a todo app</command-args>"
    assert texts(extract_facts(history(user(said))), "request") == ["/build a todo app"]


def test_a_huge_request_is_clipped_with_a_mark() -> None:
    [request] = texts(extract_facts(history(user("word " * 40_000))), "request")
    assert len(request) < 13_000
    assert "characters omitted" in request


@pytest.mark.parametrize("cut", [clip, clip_middle])
@given(text=st.text(alphabet="ab ", max_size=120), limit=st.integers(0, 120))
def test_a_mark_is_shorter_than_what_it_stands_for(
    cut: Callable[[str, int], str], text: str, limit: int
) -> None:
    shown = cut(text, limit)
    assert shown == text or len(shown) < len(text)


def test_an_answer_carries_its_question() -> None:
    facts = extract_facts(
        history(user("Pick a store."), says("Shall I take SQLite or files?"), user("SQLite"))
    )
    assert "Shall I take SQLite or files? · user replied: SQLite" in texts(facts, "decision")


def test_a_question_is_open_only_until_the_user_speaks() -> None:
    asked = (user("Release it."), says("All green. Shall I push the tag?"))
    assert texts(extract_facts(history(*asked)), "question") == ["Shall I push the tag? · awaits an answer"]
    assert texts(extract_facts(history(*asked, user("yes"))), "question") == []


def test_a_call_without_an_answer_waits() -> None:
    waiting = [ModelResponse(parts=[ToolCallPart("write_file", {"path": "a.py"}, "c1")])]
    facts = extract_facts(history(user("Write it."), waiting))
    assert texts(facts, "question") == ["call of write_file · had no result yet"]
    assert texts(facts, "file") == []


def test_only_unfinished_tasks_of_the_newest_list_are_told() -> None:
    old = call("TodoWrite", {"todos": [{"content": "old one", "status": "pending"}]})
    new = call(
        "TodoWrite",
        {
            "todos": [
                {"content": "parse", "status": "completed"},
                {"content": "test", "status": "in_progress"},
            ]
        },
    )
    assert texts(extract_facts(history(old, new)), "todo") == ["test · in progress"]


def test_single_tasks_are_followed_by_their_number() -> None:
    made = call("TaskCreate", {"subject": "fix the gauge"}, "Task #7 created")
    other = call("TaskCreate", {"subject": "write docs"}, "Task #8 created")
    done = call("TaskUpdate", {"taskId": "7", "status": "completed"})
    assert texts(extract_facts(history(made, other, done)), "todo") == ["write docs · open"]


def test_details_are_names_with_their_file() -> None:
    facts = extract_facts(
        history(
            user("Make retry_limit configurable, see https://example.org/spec and v2.3.1; wait 250 ms."),
            call("edit_file", {"path": "src/net/client.py", "old_text": "retryBudget = 1", "new_text": "x"}),
        )
    )
    details = texts(facts, "detail")
    assert {"`retry_limit`", "`https://example.org/spec`", "`v2.3.1`", "`250 ms`"} <= set(details)
    assert "`retryBudget` · in net/client.py" in details


def test_words_of_the_user_weigh_more_than_what_tools_printed() -> None:
    facts = extract_facts(
        history(user("Keep userGivenName."), call("grep", {"pattern": "x"}, "toolPrintedName elsewhere"))
    )
    weights = {fact.text: fact.weight for fact in facts}
    assert weights["`userGivenName`"] > weights.get("`toolPrintedName`", 0.0)
    assert [fact.weight for fact in facts] == sorted((fact.weight for fact in facts), reverse=True)


def test_handles_name_the_message() -> None:
    items = history(user("Hello."), says("Hi."), user("Never use tabs."), start=40)
    [rule] = [fact for fact in extract_facts(items) if fact.kind == "rule"]
    assert rule.source == "#42"


def test_secrets_never_become_facts() -> None:
    facts = extract_facts(history(user("Always send the key sk-abcdefghijklmnop1234567890 along.")))
    assert not any("sk-abc" in fact.text for fact in facts)
    assert any("[secret removed]" in text for text in texts(facts, "rule"))


def test_many_parts_in_one_message_of_a_foreign_agent() -> None:
    calls = [
        ToolCallPart("Read", {"file_path": "a.py"}, "1"),
        ToolCallPart("Write", {"file_path": "b.py"}, "2"),
    ]
    answers = [
        ToolReturnPart("Write", "File created", "2"),
        ToolReturnPart("Read", "text", "1"),
        UserPromptPart("Never delete a.py."),
    ]
    items = [Item(1, ModelResponse(parts=[TextPart("ok"), *calls])), Item(2, ModelRequest(parts=answers))]
    facts = extract_facts(items)
    assert set(texts(facts, "file")) == {"a.py · read", "b.py · created"}
    assert texts(facts, "rule") == ["Never delete a.py."]


def test_no_history_no_facts() -> None:
    assert extract_facts([]) == ()


@given(MESSAGES)
def test_any_messages_give_the_same_facts_twice(messages: list[ModelMessage]) -> None:
    items = [Item(key, message) for key, message in enumerate(messages, 1)]
    facts = extract_facts(items)
    assert facts == extract_facts(items)
    assert all(fact.text and fact.weight > 0 and fact.source.startswith("#") for fact in facts)
