"""An event as a row of the log, and back: the same text in every store."""

import json
from collections.abc import Sequence

from tui_app.context.storage_errors import StorageError
from tui_app.events import Payload, Record, payload_from_json, payload_to_json
from tui_app.session.head_fields import head_of


class DamagedEvent(StorageError):
    """An event of the log that can be found and not understood."""

    def __init__(self, session: str, seq: object) -> None:
        super().__init__(
            f"Event {seq} of session {session} is damaged, or was written by a newer Plimsoll.",
            f"Nothing was deleted: plimsoll sessions show {session} lists what can be read.",
        )


def plain(text: str) -> str:
    """Text that a database can hold: half a surrogate pair (a pasted half character) becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def row_of(record: Record, message: str | None) -> tuple[object, ...]:
    """Session, number, type, time, head, payload and message; head and payload are ASCII alone."""
    head = head_of(record.seq, record.time, record.data).to_text()
    data = json.dumps(payload_to_json(record.data), ensure_ascii=True, separators=(",", ":"))
    return (record.session, record.seq, record.data.TYPE, record.time, head, data, message)


def record_of(session: str, row: Sequence[object]) -> Record:
    """An event from its number, type, time and payload.

    Raises:
        DamagedEvent: if the payload is none, or none of this type.
    """
    seq, kind, time, data = row
    payload = payload_of(session, seq, kind, data)
    return Record(seq=int(str(seq)), time=float(str(time)), session=session, data=payload)


def payload_of(session: str, seq: object, kind: object, data: object) -> Payload:
    """What an event says.

    Raises:
        DamagedEvent: if that is no payload, or none of this type.
    """
    try:
        return payload_from_json(str(kind), json.loads(str(data)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedEvent(session, seq) from error
