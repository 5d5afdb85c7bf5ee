"""A tracer that keeps the spans it was asked for; the API of OpenTelemetry alone records nothing."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN_CONTEXT, Span, SpanContext, TracerProvider
from opentelemetry.util.types import AttributeValue


class KeptSpan(trace.NonRecordingSpan):
    """A span that remembers its name and attributes."""

    def __init__(self, name: str, attributes: Mapping[str, Any] | None) -> None:
        super().__init__(INVALID_SPAN_CONTEXT)
        self.name = name
        self.attributes = dict(attributes or {})

    def is_recording(self) -> bool:
        return True

    def get_span_context(self) -> SpanContext:
        return INVALID_SPAN_CONTEXT

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self.attributes[key] = value

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        self.attributes.update(attributes)


class Tracer(TracerProvider, trace.Tracer):
    """Provider and tracer in one."""

    def __init__(self) -> None:
        self.spans: list[KeptSpan] = []

    def get_tracer(self, *_args: Any, **_kwargs: Any) -> trace.Tracer:
        return self

    def start_span(self, name: str, *_args: Any, attributes: Any = None, **_kwargs: Any) -> Span:
        span = KeptSpan(name, attributes)
        self.spans.append(span)
        return span

    @contextmanager
    def start_as_current_span(  # type: ignore[override]
        self, name: str, *_args: Any, attributes: Any = None, **_kwargs: Any
    ) -> Iterator[Span]:
        span = self.start_span(name, attributes=attributes)
        with trace.use_span(span):
            yield span
