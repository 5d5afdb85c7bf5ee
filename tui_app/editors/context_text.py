"""What ``/context`` says in an editor: what fills the context, in Markdown."""

from tui_app.context.counting.usage import percent_text
from tui_app.conversation.conversation import Conversation
from tui_app.plurals import count


def context_text(conversation: Conversation) -> str:
    """The next request by category, the largest first."""
    usage = conversation.usage
    parts = {**usage.parts.nonzero(), **({"unmeasured": usage.unmeasured} if usage.unmeasured else {})}
    rows = [
        f"| {name.replace('_', ' ')} | {tokens:,} |"
        for name, tokens in sorted(parts.items(), key=lambda part: -part[1])
    ]
    share = percent_text(usage.total, usage.window.stated)
    head = (
        f"{usage.total:,} of {usage.window.stated:,} tokens ({share}), "
        f"{count(usage.messages, 'message')}, model {conversation.model}, policy {conversation.policy}."
    )
    return "\n".join([head, "", "| What | Tokens |", "|---|---:|", *rows])
