"""OpenTelemetry's exporter, with a word to the person where it fails; needs the extra ``otel``."""

from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult


class ToldOnce(SpanExporter):
    """Sends spans over OTLP/HTTP and says the first time that it could not.

    Headers, certificates, timeout and compression come from OpenTelemetry's own variables.
    """

    def __init__(self, address: str, failed: Callable[[], None]) -> None:
        self._exporter = OTLPSpanExporter(endpoint=address)
        self._failed = failed
        self._told = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; called on the processor's thread."""
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS and not self._told:
            self._told = True
            self._failed()
        return result

    def shutdown(self) -> None:
        """Send nothing more."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]
