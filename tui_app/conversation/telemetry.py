"""Export of spans to an OTLP receiver. Nothing of OpenTelemetry is loaded unless the user turns it on."""

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
    """Address that receives spans; empty if none is configured, None if telemetry is off.

    Args:
        setting: ``off``, ``on``, or a base address.
        env: With ``on``, the source of OpenTelemetry's own variables.
    """
    if setting in ("off", ""):
        return None
    own, base = "", setting
    if setting == "on":
        own = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "").strip()
        base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT", "").strip()
    # A base address may already end with the path.
    base = base.rstrip("/")
    return own or (base if not base or base.endswith(TRACES) else base + TRACES)


@dataclass(slots=True)
class Telemetry:
    """The spans of one session and their exporter."""

    provider: "TracerProvider | None" = None
    """None if nothing is sent."""
    notice: str = ""
    """Why nothing is sent although telemetry is on; otherwise empty."""
    _spans: Spans | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _tell: Callable[[Payload], None] = ignore
    _failed: bool = False

    def capabilities(self, session: str) -> Sequence[AbstractCapability[Any]]:
        """Capabilities that record an agent's runs, requests and tool calls as spans, without any content.

        Args:
            session: The session the spans belong to, which may not be the agent's own.
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
        """Record spans from a conversation's events until they end, or report why there are none."""
        if self._loop is not None:
            return
        self._tell, self._loop = watched.history.report, asyncio.get_running_loop()
        if self.notice:
            self._tell(Notice(text=self.notice))
        if self.provider is not None:
            spans = self._spans = Spans(self.provider.get_tracer(SCOPE, __version__), watched.session)
            watched.bus.listen(lambda record: spans.record(record.data, record.time))

    def failed(self, sentence: str) -> None:
        """Report an export failure, once. Called on an exporter thread."""
        if self._loop is not None and not self._failed:
            self._failed = True
            with suppress(RuntimeError):  # the loop has closed, so there is no session to report to
                self._loop.call_soon_threadsafe(self._tell, Notice(text=sentence))

    async def flush(self) -> None:
        """Send the remaining spans after the last event, waiting at most ``FLUSH_S``."""
        if self._spans is not None:
            self._spans.end_open(time.time())
        if self.provider is not None:
            loop = asyncio.get_running_loop()
            sending = loop.run_in_executor(DaemonThreads(), self.provider.shutdown)
            await asyncio.wait([sending], timeout=FLUSH_S)


def start_telemetry(setting: str, env: Mapping[str, str]) -> Telemetry:
    """Set up telemetry as the setting asks.

    Args:
        setting: As in ``receiver``.
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

        # Failures are reported once by us; OpenTelemetry's own log lines would overwrite the screen.
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
