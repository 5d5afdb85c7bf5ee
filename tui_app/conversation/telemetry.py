"""Sending spans to an OTLP receiver, where the user has switched that on; else none of it is loaded."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability

from tui_app.context.history import ignore
from tui_app.context.telemetry import SCOPE, SpanConversation, Spans
from tui_app.conversation.threads import DaemonThreads
from tui_app.events import Notice, Payload
from tui_app.extras import install_command
from tui_app.version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

    from tui_app.conversation.conversation import Conversation

NOT_INSTALLED = (
    "Telemetry is on, but OpenTelemetry's exporter is not installed, so nothing is sent: "
    f"{install_command('otel')}"
)
NO_ADDRESS = (
    "Telemetry is on, but neither OTEL_EXPORTER_OTLP_TRACES_ENDPOINT nor OTEL_EXPORTER_OTLP_ENDPOINT says "
    "where to, so nothing is sent."
)
UNREACHABLE = "The telemetry receiver at {address} accepts no spans; the session continues without it."
TRACES = "/v1/traces"
FLUSH_S = 2.0
"""Seconds that closing a session waits for the last spans to be sent."""


def receiver(setting: str, env: Mapping[str, str]) -> str | None:
    """Address that spans go to; empty where none is given, None where telemetry is off.

    Args:
        setting: ``off``, ``on``, or a base address.
        env: Where OpenTelemetry's own variables are looked up when the setting is ``on``.
    """
    if setting in ("off", ""):
        return None
    own, base = "", setting
    if setting == "on":
        own = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    # Below a base address, which may be written out already.
    base = base.rstrip("/")
    return own or (base if not base or base.endswith(TRACES) else base + TRACES)


@dataclass(slots=True)
class Telemetry:
    """The spans of one session: what writes them, and what sends them."""

    provider: "TracerProvider | None" = None
    """None where nothing is sent."""
    notice: str = ""
    """Why nothing is sent although it was asked for; empty otherwise."""
    _spans: Spans | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _tell: Callable[[Payload], None] = ignore
    _failed: bool = False

    def capabilities(self, session: str) -> Sequence[AbstractCapability[Any]]:
        """What an agent needs so that its runs, requests and tool calls become spans, without any content.

        Args:
            session: Whose spans they are, also where it is not the session's own agent.
        """
        if self.provider is None:
            return ()
        from pydantic_ai.capabilities import Instrumentation
        from pydantic_ai.models.instrumented import InstrumentationSettings

        settings = InstrumentationSettings(
            tracer_provider=self.provider,
            include_content=False,
            include_binary_content=False,
            include_model_request_parameters=False,
        )
        return SpanConversation(session), Instrumentation(settings)

    def follow(self, watched: "Conversation") -> None:
        """Write spans from the events of a conversation until they end, or say why there are none."""
        if self._loop is not None:
            return
        self._tell, self._loop = watched.history.report, asyncio.get_running_loop()
        if self.notice:
            self._tell(Notice(text=self.notice))
        if self.provider is not None:
            spans = self._spans = Spans(self.provider.get_tracer(SCOPE, __version__), watched.session)
            watched.bus.listen(lambda record: spans.record(record.data, record.time))

    def failed(self, sentence: str) -> None:
        """Say once what went wrong; called on a thread of the exporter."""
        if self._loop is not None and not self._failed:
            self._failed = True
            with suppress(RuntimeError):  # the loop has closed: nobody is there to hear it
                self._loop.call_soon_threadsafe(self._tell, Notice(text=sentence))

    async def flush(self) -> None:
        """Send what is left, once the events have ended; a receiver that is silent is not waited for."""
        if self._spans is not None:
            self._spans.end_open(time.time())
        if self.provider is not None:
            loop = asyncio.get_running_loop()
            sending = loop.run_in_executor(DaemonThreads(), self.provider.shutdown)
            await asyncio.wait([sending], timeout=FLUSH_S)


def start_telemetry(setting: str, env: Mapping[str, str]) -> Telemetry:
    """Prepare what the setting asks for.

    Args:
        setting: As ``receiver`` takes it.
        env: The environment.
    """
    address = receiver(setting, env)
    telemetry = Telemetry(notice=NO_ADDRESS if address == "" else "")
    if not address:
        return telemetry
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        # What goes wrong in there is said once by us; its own lines would be written over the screen.
        logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
        resource = Resource.create({"service.name": SCOPE, "service.version": __version__})
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)

        class Exporter(OTLPSpanExporter):
            def export(self, spans: "Sequence[ReadableSpan]") -> "SpanExportResult":
                result = super().export(spans)
                if result.name != "SUCCESS":
                    telemetry.failed(UNREACHABLE.format(address=address))
                return result

        # Headers, certificates, timeout and compression come from OpenTelemetry's own variables.
        provider.add_span_processor(BatchSpanProcessor(Exporter(endpoint=address)))
        telemetry.provider = provider
    except ImportError:
        return Telemetry(notice=NOT_INSTALLED)
    return telemetry
