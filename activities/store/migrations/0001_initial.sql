-- What was said, accepted, asked, answered, claimed and done.
-- Content columns are json, not jsonb: json keeps escapes of NUL and of lone surrogates, which jsonb refuses.

CREATE TABLE session (
    id          text PRIMARY KEY,
    host        text,                               -- where its directory is; none: wherever a worker is
    directory   text        NOT NULL,
    title       text        NOT NULL,
    agent       text        NOT NULL,
    model       text,
    environment json        NOT NULL,               -- of the shell that started it, names of the allow-list only
    parent      text REFERENCES session,            -- whose agent has started it; none: a person has
    rules       json        NOT NULL DEFAULT '[]',  -- a subagent's, besides those of its agent
    status      text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'ended', 'archived')),
    chain       bigint      NOT NULL DEFAULT 0,     -- the newest chain seen: start of its first run, microseconds
    seq         bigint      NOT NULL DEFAULT 0,     -- of its last event
    head        bytea       NOT NULL,               -- hash of its last event
    stuck       text,                               -- why its workflow task keeps failing, if it does
    parked      text,                               -- its open park: it goes on only when a person says so
    place       json,                               -- its directory as its last turn has left it
    archive     json,                               -- the file that its rows were moved to; this row stays
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_updated ON session (updated_at DESC);
CREATE INDEX session_parent ON session (parent) WHERE parent IS NOT NULL;

CREATE TABLE host (                                 -- machines, or whatever shares files, that workers have named
    name    text PRIMARY KEY,
    seen_at timestamptz NOT NULL                    -- when one of its workers has last said that it works
);

CREATE TABLE event (
    session   text   NOT NULL REFERENCES session,
    seq       bigint NOT NULL,
    type      text   NOT NULL,
    canonical bytea  NOT NULL,                      -- the bytes that were hashed, as they were hashed
    prev_hash bytea  NOT NULL,
    hash      bytea  NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE TABLE snapshot (
    id   text PRIMARY KEY,
    body json NOT NULL
);

CREATE TABLE turn (
    id        text PRIMARY KEY,
    session   text        NOT NULL REFERENCES session,
    number    integer     NOT NULL,
    snapshot  text        NOT NULL REFERENCES snapshot,
    agent     text        NOT NULL,
    model     text        NOT NULL,
    state     text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'ended')),
    step      integer     NOT NULL DEFAULT 0,       -- the highest registered one
    reason    text,
    error     text,
    opened_at timestamptz NOT NULL DEFAULT now(),
    ended_at  timestamptz,
    told_at   timestamptz,                          -- when a person's own command was told of the end
    UNIQUE (session, number)
);
CREATE UNIQUE INDEX turn_one_open ON turn (session) WHERE state = 'open';
CREATE INDEX turn_untold ON turn (ended_at) WHERE state = 'ended' AND told_at IS NULL;

CREATE TABLE prompt (
    id           text PRIMARY KEY,                  -- the user message's id, minted by the client
    session      text        NOT NULL REFERENCES session,
    accepted     bigint      NOT NULL,              -- seq of its event: the order of acceptance
    mode         text        NOT NULL CHECK (mode IN ('steer', 'queue')),
    body         json        NOT NULL,
    salt         bytea       NOT NULL,
    model        text,
    author       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'accepted' CHECK (state IN ('accepted', 'taken', 'withdrawn')),
    turn         text REFERENCES turn,
    step         integer,
    taken        bigint,                            -- seq of its taking: the order in a view
    accepted_at  timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    UNIQUE (session, accepted)
);
CREATE INDEX prompt_turn ON prompt (turn) WHERE turn IS NOT NULL;
CREATE INDEX prompt_untaken ON prompt (session, accepted) WHERE state = 'accepted';
CREATE INDEX prompt_undelivered ON prompt (accepted_at) WHERE delivered_at IS NULL AND state = 'accepted';

CREATE TABLE retry (                                -- a failed turn is to be taken up by a turn of its own
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    failed       text        NOT NULL REFERENCES turn,
    accepted     bigint      NOT NULL,              -- seq of its event: its place among the prompts
    model        text,
    author       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'accepted' CHECK (state IN ('accepted', 'taken', 'withdrawn')),
    turn         text REFERENCES turn,              -- the one that took it up
    accepted_at  timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz
);
CREATE UNIQUE INDEX retry_one_untaken ON retry (session) WHERE state = 'accepted';
CREATE UNIQUE INDEX retry_turn ON retry (turn);
CREATE INDEX retry_failed ON retry (failed);
CREATE INDEX retry_undelivered ON retry (accepted_at) WHERE delivered_at IS NULL AND state = 'accepted';

CREATE TABLE park (                                 -- a question to a person: whether a session may go on
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    reason       text        NOT NULL,
    was          text,
    now_is       text,
    state        text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'closed')),
    author       text,
    parked_at    timestamptz NOT NULL DEFAULT now(),
    settled_at   timestamptz,
    delivered_at timestamptz
);
CREATE UNIQUE INDEX park_one_open ON park (session) WHERE state = 'open';
CREATE INDEX park_undelivered ON park (settled_at) WHERE state = 'answered' AND delivered_at IS NULL;

CREATE TABLE stop (
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    turn         text REFERENCES turn,              -- none when only untaken prompts were there
    author       text        NOT NULL,
    accepted_at  timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz
);
CREATE INDEX stop_turn ON stop (turn);
CREATE INDEX stop_undelivered ON stop (accepted_at) WHERE delivered_at IS NULL;

CREATE TABLE generation (                           -- one model step: who may commit its answer, what failed so far
    turn      text     NOT NULL REFERENCES turn,
    step      integer  NOT NULL,
    fence     bigint[] NOT NULL,                    -- chain, schedule number, attempt: compared in this order
    failures  integer  NOT NULL DEFAULT 0,
    waited_ms bigint   NOT NULL DEFAULT 0,
    kind      text,                                 -- of the newest failure: a status, or network
    next_at   timestamptz,                          -- nobody asks again before this
    PRIMARY KEY (turn, step)
);

CREATE TABLE message (                              -- committed answers of the model
    id         text PRIMARY KEY,
    session    text        NOT NULL REFERENCES session,
    turn       text        NOT NULL REFERENCES turn,
    step       integer     NOT NULL,
    body       json        NOT NULL,                -- finish, usage, cost, model
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (turn, step)
);
CREATE INDEX message_session ON message (session, created_at);

CREATE TABLE part (                                 -- text and reasoning of a message; its calls are in call
    id       text PRIMARY KEY,
    message  text    NOT NULL REFERENCES message,
    position integer NOT NULL,
    body     json    NOT NULL,
    salt     bytea   NOT NULL,
    UNIQUE (message, position)
);

CREATE TABLE call (                                 -- the ledger
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    turn         text        NOT NULL REFERENCES turn,
    step         integer     NOT NULL,
    position     integer     NOT NULL,              -- among the parts of its message
    message      text        NOT NULL,              -- that of its turn and step
    provider_id  text        NOT NULL,
    tool         text        NOT NULL,
    arguments    json        NOT NULL,
    salt         bytea       NOT NULL,
    recovery     text        NOT NULL,
    plan         json,                              -- requests and effect, as seen last; none when planning failed
    digest       text,                              -- of the plan's effect
    loop         text        NOT NULL,              -- digest of tool and arguments, for the loop guard
    revision     integer     NOT NULL DEFAULT 0,    -- counts drifts: asks belong to one
    state        text        NOT NULL DEFAULT 'prepared'
                 CHECK (state IN ('prepared', 'claimed', 'done', 'failed', 'unknown', 'cancelled', 'refused')),
    fence        bigint[],
    machine      text,                              -- whose workspace and processes the claim is about
    decision     json,
    outcome      json,
    outcome_salt bytea,
    claimed_at   timestamptz,
    settled_at   timestamptz,
    UNIQUE (turn, step, position),
    FOREIGN KEY (turn, step) REFERENCES message (turn, step)
);

CREATE INDEX call_session ON call (session);
CREATE INDEX call_claimed ON call (id) WHERE state = 'claimed';

CREATE TABLE task (                                 -- a call that a subagent works for, in a session of its own
    call         text PRIMARY KEY REFERENCES call,
    session      text        NOT NULL REFERENCES session,   -- of the call
    child        text        NOT NULL REFERENCES session,
    prompt       text        NOT NULL UNIQUE REFERENCES prompt,
    settled_at   timestamptz,                       -- when the turn of its prompt ended, or its prompt was withdrawn
    delivered_at timestamptz
);
CREATE INDEX task_child ON task (child);
CREATE INDEX task_unsettled ON task (session) WHERE settled_at IS NULL;
CREATE INDEX task_undelivered ON task (settled_at) WHERE settled_at IS NOT NULL AND delivered_at IS NULL;

CREATE TABLE grant_ (
    id          text PRIMARY KEY,
    session     text        NOT NULL REFERENCES session,
    project     text,                               -- directory, for project scope
    host        text,                               -- where that directory is, as the session's
    body        json        NOT NULL,
    author      text        NOT NULL,
    uses        integer     NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz,
    revoked_by  text,
    spread_at   timestamptz                         -- when it had answered the open asks of its project's other sessions
);
CREATE INDEX grant_session ON grant_ (session) WHERE revoked_at IS NULL;
CREATE INDEX grant_unspread ON grant_ (created_at) WHERE project IS NOT NULL AND spread_at IS NULL;
CREATE INDEX grant_project ON grant_ (project) WHERE revoked_at IS NULL AND project IS NOT NULL;

CREATE TABLE ask (
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    turn         text        NOT NULL REFERENCES turn,
    call         text        NOT NULL REFERENCES call,
    revision     integer     NOT NULL,
    request      integer     NOT NULL,              -- index among the plan's requests; -1: the loop guard
    body         json        NOT NULL,              -- the permission request
    digest       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'closed')),
    reply        text CHECK (reply IN ('once', 'always', 'reject')),
    feedback     json,
    feedback_salt bytea,
    by_grant     text REFERENCES grant_,
    author       text,
    reason       text,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    settled_at   timestamptz,
    delivered_at timestamptz,
    told_at      timestamptz,                       -- when a person's own command was told that it waits
    UNIQUE (call, revision, request)
);
CREATE UNIQUE INDEX ask_one_open ON ask (call) WHERE state = 'open';
CREATE INDEX ask_open ON ask (asked_at) WHERE state = 'open';
CREATE INDEX ask_untold ON ask (asked_at) WHERE state = 'open' AND told_at IS NULL;
CREATE INDEX ask_open_session ON ask (session) WHERE state = 'open';
CREATE INDEX ask_turn ON ask (turn);
CREATE INDEX ask_by_grant ON ask (by_grant) WHERE by_grant IS NOT NULL;
CREATE INDEX ask_undelivered ON ask (settled_at) WHERE state = 'answered' AND delivered_at IS NULL;

CREATE TABLE note (                                 -- words that events name by their seal: a provider's, an error's
    id      text PRIMARY KEY,
    session text  NOT NULL REFERENCES session,
    body    json  NOT NULL,
    salt    bytea NOT NULL
);
CREATE INDEX note_session ON note (session);

CREATE TABLE todo (
    session text PRIMARY KEY REFERENCES session,
    items   json NOT NULL
);

CREATE UNLOGGED TABLE delta (                       -- half answers and live output; may be lost
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session text    NOT NULL,
    source  text    NOT NULL,                       -- message or call
    attempt text    NOT NULL,
    body    json    NOT NULL,
    at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX delta_source ON delta (source);
CREATE INDEX delta_session ON delta (session, id);

-- Both lock a row that has to be as it was when it was last seen, or end the transaction: who writes what he has
-- decided on by then need not read first.
CREATE FUNCTION hold_session(held text, last_seq bigint, newest_chain bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM session WHERE id = held AND seq = last_seq AND chain = newest_chain AND archive IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'session % has moved on', held USING ERRCODE = 'serialization_failure';
    END IF;
END $$;
CREATE FUNCTION hold_step(held text, number integer, holder bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM generation WHERE turn = held AND step = number AND fence = holder FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'step % of turn % has moved on', number, held USING ERRCODE = 'serialization_failure';
    END IF;
END $$;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN                        -- what lies in an archive, whose last hash the session's row keeps
        IF EXISTS (SELECT FROM holdfast.session WHERE id = OLD.session AND status = 'archived') THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the event log is append-only';
END $$;
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON event
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE event ENABLE ALWAYS TRIGGER event_append_only;
ALTER TABLE event ENABLE ALWAYS TRIGGER event_no_truncate;
