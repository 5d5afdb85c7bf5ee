"""Session databases of every older version, as written by the releases of that time."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tui_app.events import (
    AssistantMessage,
    Payload,
    Record,
    SessionEnd,
    SessionStart,
    ToolResult,
    UsageInfo,
    UserMessage,
    payload_to_json,
)
from tui_app.session.event_heads import head_of
from tui_app.session.stores.word_index import add_index_words

SCHEMA_1 = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, cwd TEXT NOT NULL, model TEXT NOT NULL, created REAL NOT NULL,
    updated REAL NOT NULL, messages INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
    session TEXT NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL, type TEXT NOT NULL,
    time REAL NOT NULL, head TEXT NOT NULL, data TEXT NOT NULL, message TEXT, PRIMARY KEY (session, seq)
);
CREATE INDEX events_by_type ON events (session, type, seq);
"""
SAID = "COALESCE(json_extract({0}data, '$.text'), json_extract({0}data, '$.summary'), '')"
SPEAKING = "('user.message', 'assistant.message', 'tool.result', 'session.compaction_complete')"
SCHEMA_2 = f"""
CREATE VIRTUAL TABLE said USING fts5 (session, text, content='', tokenize='unicode61');
CREATE TRIGGER said_more AFTER INSERT ON events WHEN new.type IN {SPEAKING} BEGIN
    INSERT INTO said (rowid, session, text) VALUES (new.rowid, new.session, {SAID.format("new.")});
END;
CREATE TRIGGER said_less AFTER DELETE ON events WHEN old.type IN {SPEAKING} BEGIN
    INSERT INTO said (said, rowid, session, text)
    VALUES ('delete', old.rowid, old.session, {SAID.format("old.")});
END;
"""
SCHEMA_4 = """
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, repository TEXT NOT NULL, branch TEXT NOT NULL, text TEXT NOT NULL,
    kind TEXT NOT NULL, made_by TEXT NOT NULL, session TEXT NOT NULL, seq INTEGER NOT NULL,
    time REAL NOT NULL, weight REAL NOT NULL, pruned REAL NOT NULL DEFAULT 0,
    pruned_by TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '', replaced_by INTEGER NOT NULL DEFAULT 0,
    added_told INTEGER NOT NULL DEFAULT 0, pruned_told INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX memories_by_scope ON memories (repository, branch);
CREATE TABLE consolidations (
    session TEXT PRIMARY KEY, repository TEXT NOT NULL, branch TEXT NOT NULL, asked REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, read_until INTEGER NOT NULL DEFAULT 0
);
"""
SCHEMA_6 = "ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;"
SCHEMA_7 = """
CREATE TABLE snapshots (
    session TEXT NOT NULL, part INTEGER NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (session, part)
);
"""
SPOKEN = (
    "CASE type WHEN 'tool.call' THEN json_extract(data,'$.name')||ifnull((SELECT group_concat(' '||atom,'')"
    "FROM json_tree(CASE WHEN json_valid(json_extract(data,'$.args'))"
    "THEN json_extract(data,'$.args')END)),'')"
    "ELSE coalesce(json_extract(data,'$.text'),json_extract(data,'$.summary'),'')END"
)
SCHEMA_8 = f"""
DROP TRIGGER said_more;
DROP TRIGGER said_less;
CREATE VIEW spoken(place,session,text)AS SELECT rowid,session,index_words(CAST(({SPOKEN})AS BLOB))
    FROM events WHERE type IN
    ('tool.call','user.message','assistant.message','tool.result','session.compaction_complete');
CREATE TRIGGER said_more AFTER INSERT ON events BEGIN
    INSERT INTO said (rowid,session,text) SELECT * FROM spoken WHERE place=new.rowid; END;
CREATE TRIGGER said_less BEFORE DELETE ON events BEGIN
    INSERT INTO said (said,rowid,session,text) SELECT 'delete',* FROM spoken WHERE place=old.rowid; END;
"""
OLDER = (SCHEMA_1, SCHEMA_2, "", SCHEMA_4, "", SCHEMA_6, SCHEMA_7, SCHEMA_8)
"""Schema changes of each version, as released. Versions 3 and 5 only recounted."""


def said(number: int) -> list[Payload]:
    """Return the events of one session."""
    return [
        SessionStart(cwd="/tmp", model="a:b", title=f"Session {number}"),
        UserMessage(text=f"when is low water at pier{number}?", tokens={"user": 9}),
        AssistantMessage(text="I look.", tokens={"assistant": 3}, call_ids=("c1", "c2")),
        ToolResult(tool_call_id="c1", name="grep", text="09:40", tokens={"tool_results": 4}),
        ToolResult(tool_call_id="c2", name="ls", text="albatross.txt", tokens={"tool_results": 5}),
        AssistantMessage(text="At 09:40.", tokens={"assistant": 6}),
        UsageInfo(usage={"total": 812, "limit": 9_000}),
        SessionEnd(),
    ]


def build_older(path: Path, version: int, *, sessions: int = 3) -> dict[str, list[str]]:
    """Write a session database of an older version.

    Returns:
        The events of each session, as ``str`` of their envelopes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    written: dict[str, list[str]] = {}
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        add_index_words(db)
        for script in OLDER[:version]:
            db.executescript(script)
        for number in range(sessions):
            session = f"{number:08x}"
            row = (session, f"Session {number}", "/tmp", "a:b", 1.0, 2.0, 4 if version < 5 else 5, 812)
            columns = "id, title, cwd, model, created, updated, messages, tokens"
            db.execute(f"INSERT INTO sessions ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            written[session] = []
            for seq, payload in enumerate(said(number), 1):
                record = Record(seq=seq, time=float(seq), session=session, data=payload)
                head = head_of(seq, record.time, payload).to_text()
                data = json.dumps(payload_to_json(payload), separators=(",", ":"))
                event = (session, seq, payload.TYPE, record.time, head, data, '{"m": 1}')
                db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", event)
                written[session].append(str(record.to_json()))
        if version > 5:
            sizes = " + ".join(f"LENGTH(CAST({name} AS BLOB))" for name in ("head", "data", "message"))
            count = f"SELECT SUM({sizes}) FROM events WHERE session = sessions.id"
            db.execute(f"UPDATE sessions SET bytes = ({count})")
        db.execute(f"PRAGMA user_version = {version}")
        db.commit()
    return written
