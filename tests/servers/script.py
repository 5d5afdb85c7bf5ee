"""What a scripted model says: keywords, the steps of each answer, and the template that chooses one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """One tool call the model makes."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Calls:
    """A step that calls tools."""

    calls: tuple[Call, ...]
    text: str = ""


Step = str | Calls
Script = Mapping[str, Sequence[Step]]


def spoken(step: Step) -> str:
    """The text the model writes for a step, tool calls in the tags that the template teaches."""
    if isinstance(step, str):
        return step
    tags = [
        "<tool_call>\n" + json.dumps({"name": call.tool, "arguments": dict(call.args)}) + "\n</tool_call>"
        for call in step.calls
    ]
    return "\n".join([step.text, *tags] if step.text else tags)


def sorted_script(script: Script) -> list[tuple[str, tuple[str, ...]]]:
    """A script as plain values in its own order, which matters: the first keyword that occurs wins."""
    return [(keyword, tuple(spoken(step) for step in steps)) for keyword, steps in script.items()]


TEMPLATE = """\
{%- set ns = namespace(last='', results=0, key=@DEFAULT_KEY@, steps=@DEFAULT_STEPS@) -%}
{%- if tools -%}
{{- '<|im_start|>system\\nTools you may call, one JSON object a line:\\n<tools>' -}}
{%- for tool in tools -%}{{- '\\n' -}}{{- tool | tojson -}}{%- endfor -%}
{{- '\\n</tools>\\nA call looks like this:\\n<tool_call>\\n' -}}
{{- '{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{{- '<|im_start|>assistant\\n' -}}{%- if message.content -%}{{- message.content -}}{%- endif -%}
{%- if message.tool_calls -%}{%- for call in message.tool_calls -%}
{{- '\\n<tool_call>\\n{"name": "' -}}{{- call.function.name -}}{{- '", "arguments": ' -}}
{%- if call.function.arguments is string -%}{{- call.function.arguments -}}
{%- else -%}{{- call.function.arguments | tojson -}}{%- endif -%}
{{- '}\\n</tool_call>' -}}
{%- endfor -%}{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- elif message.role == 'tool' -%}
{%- set ns.results = ns.results + 1 -%}
{{- '<|im_start|>user\\n<tool_response>\\n' -}}{{- message.content -}}
{{- '\\n</tool_response><|im_end|>\\n' -}}
{%- else -%}
{%- if message.role == 'user' -%}{%- set ns.last = message.content -%}{%- set ns.results = 0 -%}{%- endif -%}
{{- '<|im_start|>' -}}{{- message.role -}}{{- '\\n' -}}{{- message.content -}}{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
@CHOICE@
{%- set step = ns.results if ns.results < ns.steps else ns.steps - 1 -%}
{{- '<|im_start|>assistant\\n<|k' ~ ns.key ~ 's' ~ step ~ '|>' -}}
{%- endif -%}
"""


def chat_template(script: Script) -> str:
    """The template that turns messages into a prompt and chooses what the model will say."""
    keywords = list(script)
    choice = ""
    for index, keyword in enumerate(keywords):
        if keyword:
            word = "if" if not choice else "elif"
            choice += f"{{%- {word} {json.dumps(keyword)} in ns.last -%}}"
            choice += f"{{%- set ns.key = {index} -%}}{{%- set ns.steps = {len(script[keyword])} -%}}"
    default = keywords.index("") if "" in script else 0
    return (
        TEMPLATE.replace("@CHOICE@", choice + "{%- endif -%}" if choice else "")
        .replace("@DEFAULT_KEY@", str(default))
        .replace("@DEFAULT_STEPS@", str(len(script[keywords[default]])))
    )
