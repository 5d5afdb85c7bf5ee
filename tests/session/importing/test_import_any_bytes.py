"""Whatever a file of any format holds: the importer's own error or a full account, line by line."""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.importing import foreign
from tests.session.importing.fuzzing import strict, valid_script, values
from tui_app.session.importers import FORMATS, Imported, ImportFormatError, import_file

LINE_FILES = {name: foreign.jsonl(records) for name, records in foreign.LINES.items()}
LINE_FILES["aider"] = foreign.AIDER.encode()
FILES = [*foreign.FILES, ("claude-code", b"\n".join(valid_script().lines()))]

line_formats = st.sampled_from(sorted(LINE_FILES))


def attempt(content: bytes, format: str = "auto") -> Imported | None:
    """The import, or None when the importer refused the file with its own error."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        try:
            imported = import_file(path, format)
        except ImportFormatError:
            return None
    strict(imported)
    return imported


def unaccounted(imported: Imported, content: bytes) -> set[int]:
    """Lines that left no event, no count and no report."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    numbers = {number for number, line in enumerate(lines, 1) if line.strip()}
    return numbers - imported.places - {each.line for each in imported.skipped}


@given(st.binary(max_size=200), st.sampled_from(["auto", *FORMATS]))
def test_any_bytes(content: bytes, format: str) -> None:
    attempt(content, format)


@given(st.sampled_from(FILES), st.data())
def test_any_file_cut_anywhere_and_with_bytes_changed(file: tuple[str, bytes], data: st.DataObject) -> None:
    name, content = file
    cut = content[: data.draw(st.integers(0, len(content)))]
    attempt(cut)
    attempt(cut, name)
    place = data.draw(st.integers(0, max(0, len(cut) - 1)))
    attempt(cut[:place] + data.draw(st.binary(min_size=1, max_size=3)) + cut[place + 1 :], name)


@given(line_formats, st.randoms(use_true_random=False), st.data())
def test_lines_in_any_order_doubled_cut_and_mixed_with_noise_are_all_accounted_for(
    name: str, order: random.Random, data: st.DataObject
) -> None:
    lines = [line for line in LINE_FILES[name].split(b"\n") if line.strip()]
    noise = data.draw(st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b"")), max_size=3))
    records = data.draw(st.lists(values.map(lambda value: json.dumps(value).encode()), max_size=3))
    halves = [line[: len(line) // 2] for line in order.sample(lines, 2)]
    mixed = [*lines, *order.sample(lines, 2), *halves, *noise, *records]
    order.shuffle(mixed)
    content = b"\n".join(mixed)
    if imported := attempt(content, name):
        assert unaccounted(imported, content) == set()


@given(line_formats, st.data())
def test_any_value_in_any_field_is_accounted_for(name: str, data: st.DataObject) -> None:
    if name == "aider":
        return
    records = json.loads(json.dumps(foreign.LINES[name]))
    for _ in range(data.draw(st.integers(1, 4))):
        _spoil(records[data.draw(st.integers(0, len(records) - 1))], data)
    content = foreign.jsonl(records)
    if imported := attempt(content, name):
        assert unaccounted(imported, content) == set()


@given(st.sampled_from(sorted(foreign.DOCUMENTS)), st.data())
def test_any_value_in_any_field_of_a_document(name: str, data: st.DataObject) -> None:
    document = json.loads(json.dumps(foreign.DOCUMENTS[name]))
    for _ in range(data.draw(st.integers(1, 6))):
        _spoil(document, data)
    attempt(json.dumps(document).encode(), name)
    attempt(json.dumps(document).encode())


def _spoil(value: object, data: st.DataObject) -> None:
    """Put anything into one field somewhere inside."""
    while True:
        keys = (
            list(value)
            if isinstance(value, dict)
            else list(range(len(value)))
            if isinstance(value, list)
            else []
        )
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        inner = value[key]  # type: ignore[index]
        if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
            value[key] = data.draw(values)  # type: ignore[index]
            return
        value = inner


@pytest.mark.parametrize(("name", "content"), FILES, ids=[name for name, _ in FILES])
def test_the_same_file_gives_the_same_bytes(name: str, content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        assert import_file(path) == import_file(path)
