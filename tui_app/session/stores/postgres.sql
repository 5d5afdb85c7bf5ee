-- version 1

CREATE TABLE plimsoll.sessions (
    id text PRIMARY KEY, place bigint GENERATED ALWAYS AS IDENTITY, title text NOT NULL,
    cwd text NOT NULL, model text NOT NULL, created double precision NOT NULL,
    updated double precision NOT NULL, last integer NOT NULL DEFAULT 0,
    messages integer NOT NULL DEFAULT 0, tokens bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0, writer text NOT NULL DEFAULT ''
);

CREATE TABLE plimsoll.events (
    session text NOT NULL REFERENCES plimsoll.sessions (id), seq integer NOT NULL,
    type text NOT NULL, time double precision NOT NULL, head text NOT NULL, data text NOT NULL,
    message text, figures text, words tsvector, PRIMARY KEY (session, seq)
);

CREATE INDEX events_by_type ON plimsoll.events (session, type, seq);

CREATE INDEX events_by_word ON plimsoll.events USING gin (words) WHERE words IS NOT NULL;

CREATE INDEX sessions_by_folder ON plimsoll.sessions (cwd);

-- version 2
-- The context boards; their code is in the package memory.

CREATE TABLE plimsoll.memories (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, token text NOT NULL UNIQUE,
    repository text NOT NULL, branch text NOT NULL, text text NOT NULL, kind text NOT NULL,
    made_by text NOT NULL, session text NOT NULL, seq integer NOT NULL,
    time double precision NOT NULL, weight double precision NOT NULL, machine text NOT NULL,
    pruned double precision NOT NULL DEFAULT 0, pruned_by text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '', replaced_by integer NOT NULL DEFAULT 0,
    pruned_on text NOT NULL DEFAULT '', added_told boolean NOT NULL DEFAULT false,
    pruned_told boolean NOT NULL DEFAULT false
);

CREATE INDEX memories_by_scope ON plimsoll.memories (repository, branch);

CREATE TABLE plimsoll.consolidations (
    session text PRIMARY KEY, repository text NOT NULL, branch text NOT NULL, machine text NOT NULL,
    asked double precision NOT NULL, attempts integer NOT NULL DEFAULT 0,
    read_until integer NOT NULL DEFAULT 0
);

-- version 3
-- A message is an item of the model's view; each tool result is a separate one.

UPDATE plimsoll.sessions SET messages = (SELECT count(*) FROM plimsoll.events
    WHERE session = sessions.id
        AND type IN ('system.message', 'user.message', 'assistant.message', 'tool.result',
        'memory.inbox'));

-- version 4
-- Size of each log, updated with every event.

ALTER TABLE plimsoll.sessions ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

UPDATE plimsoll.sessions
        SET bytes = (SELECT COALESCE(SUM(octet_length(head) + octet_length(data) +
        COALESCE(octet_length(message), 0)), 0) FROM plimsoll.events WHERE session = sessions.id);

-- version 5
-- Snapshots of a session's folds. They repeat the log, change as it grows, and may be deleted at any time.

CREATE TABLE plimsoll.snapshots (
    session text NOT NULL, part integer NOT NULL, seq integer NOT NULL, data text NOT NULL,
    PRIMARY KEY (session, part)
);

-- version 6
-- Words beyond ASCII are split differently; the program splits them again.
