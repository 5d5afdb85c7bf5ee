"""The expected import of each real transcript, and why it differs from the counts in the folder's list.

The list counts records of the files; a session has requests and responses, as models see them.
"""

from dataclasses import dataclass

SAME = ""
SPREAD = (
    "one response stands in several records, the results of one response are one request, and the summary of "
    "a compaction is no message"
)
SIDE = f"{SPREAD}; the records of sub-agents, with their calls, are left out and counted"
NOTED = f"{SPREAD}; notes the program wrote are left out and counted"
QUEUED = "a prompt that left the queue during a turn counts"
ONE_PART = "a call and its result are one part of a message here; the results become requests of their own"
EMPTY = "14 answers were stopped before they said anything; the results of one answer are one request"
COPILOT = (
    "results are events and no messages in the list; 6 answers without any content, and 2 prompts that the "
    "program wrote, are left out and counted"
)
BY_ORDER = "the message behind an action is its result, and the last result stands in the trajectory only"
RECALL = (
    "the program's own look-up of the workspace (an action and its observation) and an error that no "
    "action caused are left out and counted"
)
LOGGED = "the log's response is a message too, with a call that nobody answered"
LINES = "the list counts lines of prompts; lines that follow each other are one prompt, and answers count"


@dataclass(frozen=True, slots=True)
class Expected:
    """Counts of one import."""

    messages: int
    calls: int
    results: int
    """Results in the file. Each has its call, so this is also the number of pairs."""
    why: str
    """Why the counts differ from the list's; empty if they do not."""


EXPECTED: dict[str, Expected] = {
    "claude-code/cli-22ecdaa4-99k-compacted.jsonl": Expected(155, 87, 87, SPREAD),
    "claude-code/cli-f5429d93-96k-compacted.jsonl": Expected(104, 85, 85, f"{NOTED}; {QUEUED}"),
    "claude-code/cli-a6a0a745-29k.jsonl": Expected(16, 18, 18, SPREAD),
    "claude-code/cli-d5e1b7e8-54k.jsonl": Expected(30, 21, 21, SPREAD),
    "claude-code/cli-174350e5-17k.jsonl": Expected(22, 14, 14, SPREAD),
    "claude-code/cli-a0355be6-19k.jsonl": Expected(30, 22, 22, SPREAD),
    "claude-code/kimi-cli-98322d79-49k.jsonl": Expected(55, 27, 27, f"{SPREAD}; {QUEUED}"),
    "claude-code/kimi-cli-f4b6fd70-24k.jsonl": Expected(88, 47, 47, SPREAD),
    "claude-code/kimi-cli-97a0c64e-15k.jsonl": Expected(28, 20, 20, SPREAD),
    "claude-code/claude-code-viewer-9ed50542-1k.jsonl": Expected(14, 12, 12, SPREAD),
    "claude-code/claude-code-viewer-836aad49-10k.jsonl": Expected(20, 13, 13, SIDE),
    "claude-code/claude-code-viewer-2ac637a6-69k.jsonl": Expected(18, 11, 11, SIDE),
    "opencode/prsui-e21b5df4-44k.json": Expected(96, 50, 50, ONE_PART),
    "opencode/prsui-beace2b0-21k.json": Expected(12, 25, 25, ONE_PART),
    "opencode/prsui-e61c55c5-10k.json": Expected(10, 17, 17, ONE_PART),
    "pi/prsui-a7637f38-2k.jsonl": Expected(16, 7, 7, SAME),
    "pi/prsui-762aa961-7k.jsonl": Expected(30, 14, 14, SAME),
    "pi/pi-mono-5a6fb54e-123k.jsonl": Expected(896, 391, 373, EMPTY),
    "copilot-cli/azure-dev-b6f37c8f-115k.jsonl": Expected(58, 108, 108, COPILOT),
    "swe-agent/web_i_got_id_demo.traj": Expected(44, 21, 21, BY_ORDER),
    "swe-agent/forensics_flash.traj": Expected(10, 4, 4, BY_ORDER),
    "swe-agent/rev_rock.traj": Expected(26, 12, 12, BY_ORDER),
    "openhands/ponylang__ponyc-4595.json": Expected(48, 23, 22, RECALL),
    "openhands/ponylang__ponyc-4593.json": Expected(68, 33, 32, RECALL),
    "openai-chat/litellm_proxy__deepseek__deepseek-chat-1757015076.651.json": Expected(10, 1, 0, LOGGED),
    "openai-chat/litellm_proxy__anthropic__claude-sonnet-4-20250514-1757015046.707.json": Expected(
        14, 6, 5, LOGGED
    ),
    "openai-chat/tau-airline-task2-trial1.json": Expected(62, 27, 27, SAME),
    "openai-chat/tau-airline-task3-trial0.json": Expected(62, 20, 20, SAME),
    "openai-chat/tau-airline-task46-trial3.json": Expected(62, 18, 18, SAME),
    "aider-md/session0618.md": Expected(65, 0, 0, LINES),
    "inspect-ai/browser.json": Expected(10, 4, 4, SAME),
    "langchain/summarization_seed_messages.json": Expected(6, 2, 2, SAME),
}
