-- version 1

CREATE TABLE sessions (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, cwd TEXT NOT NULL, model TEXT NOT NULL,
    created REAL NOT NULL, updated REAL NOT NULL, messages INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE events (
    session TEXT NOT NULL REFERENCES sessions (id), seq INTEGER NOT NULL, type TEXT NOT NULL,
    time REAL NOT NULL, head TEXT NOT NULL, data TEXT NOT NULL, message TEXT,
    PRIMARY KEY (session, seq)
);

CREATE INDEX events_by_type ON events (session, type, seq);

-- version 2
-- The word index stores no text. Version 8 fills it, with triggers that keep it in step with the log.

CREATE VIRTUAL TABLE said USING fts5 (session, text, content='', tokenize='unicode61');

-- version 3
-- Before the first request nothing was counted. Until then, all of an import's history is in view.

UPDATE sessions SET tokens = (SELECT COALESCE(SUM(category.value), 0)
    FROM events, json_each(events.head, '$.k') AS category WHERE events.session = sessions.id
    AND events.type IN ('system.message', 'user.message', 'assistant.message', 'tool.result'))
    WHERE tokens = 0 AND (SELECT json_extract(data, '$.imported_from') FROM events
    WHERE session = sessions.id AND seq = 1)<>'';

-- version 4
-- The context boards; their code is in the package memory.

CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT, repository TEXT NOT NULL, branch TEXT NOT NULL,
    text TEXT NOT NULL, kind TEXT NOT NULL, made_by TEXT NOT NULL, session TEXT NOT NULL,
    seq INTEGER NOT NULL, time REAL NOT NULL, weight REAL NOT NULL, pruned REAL NOT NULL DEFAULT 0,
    pruned_by TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',
    replaced_by INTEGER NOT NULL DEFAULT 0, added_told INTEGER NOT NULL DEFAULT 0,
    pruned_told INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX memories_by_scope ON memories (repository, branch);

CREATE TABLE consolidations (
    session TEXT PRIMARY KEY, repository TEXT NOT NULL, branch TEXT NOT NULL, asked REAL NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, read_until INTEGER NOT NULL DEFAULT 0
);

-- version 5
-- A message is an item of the model's view; each tool result is a separate one.

UPDATE sessions SET messages = (SELECT COUNT(*) FROM events WHERE session = sessions.id
        AND type IN ('system.message', 'user.message', 'assistant.message', 'tool.result',
        'memory.inbox'));

-- version 6
-- Size of each log, updated with every event.

ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;

UPDATE sessions
        SET bytes = (SELECT COALESCE(SUM(COALESCE(LENGTH(CAST(head AS BLOB)), 0) +
        COALESCE(LENGTH(CAST(data AS BLOB)), 0) + COALESCE(LENGTH(CAST(message AS BLOB)), 0)), 0)
    FROM events WHERE session = sessions.id);

-- version 7
-- Snapshots of a session's folds. They repeat the log, change as it grows, and may be deleted at any time.

CREATE TABLE snapshots (
    session TEXT NOT NULL, part INTEGER NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (session, part)
);

-- version 8
-- Calls are indexed by their arguments, and the program splits the words, so that they are also found in
-- scripts without spaces. Declared once, as a view: the schema should fit in the first page.
-- A damaged event has no words, and causes no error.

DROP TRIGGER IF EXISTS said_more;

DROP TRIGGER IF EXISTS said_less;

CREATE VIEW spoken(place,session,text)AS SELECT rowid,session,index_words(CAST((CASE type
    WHEN 'tool.call' THEN json_extract(data,'$.name')||ifnull(
        (SELECT group_concat(' '||atom,'')FROM json_tree(CASE WHEN json_valid(json_extract(data,'$.args'))THEN json_extract(data,'$.args')END)),'')
    ELSE coalesce(json_extract(data,'$.text'),json_extract(data,'$.summary'),'')END)AS BLOB))
FROM events WHERE type IN(
    'tool.call','user.message','assistant.message','tool.result','session.compaction_complete');

CREATE TRIGGER said_more AFTER INSERT ON events BEGIN
    INSERT INTO said (rowid,session,text) SELECT * FROM spoken WHERE place=new.rowid; END;

CREATE TRIGGER said_less BEFORE DELETE ON events BEGIN
    INSERT INTO said (said,rowid,session,text) SELECT 'delete',* FROM spoken WHERE place=old.rowid; END;

INSERT INTO said (said) VALUES ('delete-all');

INSERT INTO said (rowid, session, text) SELECT spoken.*
    FROM spoken JOIN events ON events.rowid = place WHERE json_valid(data);

-- version 9
-- Checksums detect damaged rows; rows of older versions have none.

ALTER TABLE events ADD COLUMN sum INTEGER;
