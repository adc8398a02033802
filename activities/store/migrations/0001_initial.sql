-- Sessions, their logs, and the rows that the events explain.
-- Content columns are json, not jsonb: json keeps escapes of NUL and of lone surrogates, which jsonb refuses. So do all
-- operators and functions that look into json: what SQL has to know of a body is a column beside it.
-- A salt is that of the seal by which an event names a content; an empty one says that the content is deleted.

CREATE TABLE session (
    id          text PRIMARY KEY,
    host        text,                               -- that has its directory; none: any worker's
    directory   text        NOT NULL,
    worktree    text,                               -- of its project
    title       text        NOT NULL,               -- the first prompt's first line, until there is a better one
    default_title text,                             -- what OpenCode has until then; none: it has a title
    agent       text        NOT NULL,               -- the current one: its last turn's
    began_as    text        NOT NULL,               -- the agent that it began with: model and variant were named for it
    model       text,
    variant     text,                               -- of its model; none: the agent's
    environment json        NOT NULL,               -- of the shell that started it: variables of the allow-list
    parent      text REFERENCES session,            -- the session whose agent started it; none: a person did
    rules       json        NOT NULL DEFAULT '[]',  -- of a subagent, besides those of its agent
    status      text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'ended', 'archived', 'deleted')),
    stuck       text,                               -- why its workflow task keeps failing, if it does
    suspension  text,                               -- its open suspension: only a person can resume it
    directory_identity json,                        -- its directory, as its last turn left it
    sources     json,                               -- where its configuration is read; none for a subagent
    restored_at timestamptz,                        -- from an archive; its age counts from then
    archive     json,                               -- the file that has its rows; this row stays
    schedule    text,                               -- that has started it, which may be gone
    deleted_messages integer NOT NULL DEFAULT 0,    -- how many of its messages a person has deleted
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX session_stuck ON session (id) WHERE stuck IS NOT NULL;
CREATE INDEX session_parent ON session (parent) WHERE parent IS NOT NULL;

CREATE TABLE project (                              -- a work tree, or a directory outside of any, with sessions
    host       text,                                -- that has it, as in session
    worktree   text        NOT NULL,
    vcs        text CHECK (vcs = 'git'),
    id         text,                                -- its first commit, or of its path; once somebody has asked for it
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE NULLS NOT DISTINCT (host, worktree)
);

-- The end of a session's log, whose row lock is the lock of the log. Every transaction on a session updates it, so it
-- has a table of its own: no column that changes is indexed, and half of each page is free for HOT updates.
CREATE TABLE session_head (
    session    text PRIMARY KEY REFERENCES session,
    epoch      bigint      NOT NULL DEFAULT 0,      -- the newest given out, each by one load of its rows
    seq        bigint      NOT NULL DEFAULT 0,      -- of the last event
    head       bytea       NOT NULL,                -- hash of the last event
    updated_at timestamptz NOT NULL DEFAULT now(),  -- when the last event was appended
    moved_at   timestamptz NOT NULL DEFAULT now()   -- when its activities last appended one
) WITH (fillfactor = 50);

CREATE TABLE host (                                 -- named by workers: a machine, or machines that share files
    name    text PRIMARY KEY,
    machine text,                                   -- the id in the data directory of its workers
    address text,                                   -- from which its last worker connected
    seen_at timestamptz NOT NULL                    -- last report of one of its workers
);

CREATE TABLE engine (                               -- the one Temporal that runs the sessions: two would run each twice
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    namespace text NOT NULL,                        -- the id that Temporal gave it
    target    text NOT NULL,                        -- as its last worker names it: NAMESPACE at HOST:PORT
    address   text,                                 -- from which that worker connected
    seen_at   timestamptz NOT NULL
);

CREATE TABLE event (
    session   text   NOT NULL REFERENCES session,
    seq       bigint NOT NULL,
    type      text   NOT NULL,
    canonical bytea  NOT NULL,                      -- the bytes that were hashed
    prev_hash bytea  NOT NULL,
    hash      bytea  NOT NULL,
    PRIMARY KEY (session, seq)
);

CREATE TABLE turn_config (
    id   text PRIMARY KEY,
    body json NOT NULL
);

CREATE TABLE turn (
    id        text PRIMARY KEY,
    session   text        NOT NULL REFERENCES session,
    number    integer     NOT NULL,
    turn_config text      NOT NULL REFERENCES turn_config,
    agent     text        NOT NULL,
    model     text        NOT NULL,
    variant   text,                                 -- as named for it, or by the session; none: the agent's
    instructed_by text,                             -- the prompt with instructions or subtasks for it; no foreign key: it is younger
    state     text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'ended')),
    step      integer     NOT NULL DEFAULT 0,       -- the highest registered one
    last_step integer,                              -- that it may take, in text only: its budget is spent
    project_limits json,                            -- what its configuration allows on a day, to all in its project
    day_limits json,                                -- the same, to all on its host
    reason    text,
    error     text,
    opened_at timestamptz NOT NULL DEFAULT now(),
    ended_at  timestamptz,
    notified_at timestamptz,                        -- when the person's command was run for its end
    UNIQUE (session, number)
);
CREATE UNIQUE INDEX turn_one_open ON turn (session) WHERE state = 'open';
CREATE INDEX turn_unnotified ON turn (ended_at) WHERE state = 'ended' AND notified_at IS NULL;

CREATE TABLE work (                                 -- what makes a session work: the oldest untaken opens a turn
    id           text PRIMARY KEY,                  -- minted by the client; a prompt's is its user message's
    session      text        NOT NULL REFERENCES session,
    kind         text        NOT NULL CHECK (kind IN ('prompt', 'retry', 'compaction')),
    accepted_seq bigint      NOT NULL,              -- of its event: the order of acceptance
    author       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'accepted' CHECK (state IN ('accepted', 'taken', 'withdrawn')),
    turn         text REFERENCES turn,              -- that took it
    accepted_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (session, accepted_seq)
);
CREATE INDEX work_turn ON work (turn) WHERE turn IS NOT NULL;
CREATE INDEX work_untaken ON work (session, accepted_seq) WHERE state = 'accepted';
CREATE UNIQUE INDEX work_one_untaken_retry ON work (session) WHERE kind = 'retry' AND state = 'accepted';

CREATE TABLE prompt (                               -- a user message
    id           text PRIMARY KEY REFERENCES work,
    mode         text        NOT NULL CHECK (mode IN ('steer', 'queue')),
    body         json        NOT NULL,              -- parts, and instructions of its own
    salt         bytea       NOT NULL,
    agent        text,                              -- of the turn that it opens; none: the session's
    model        text,
    variant      text,
    step         integer,                           -- at which its turn took it
    shown        integer,                           -- characters of it that a model reads; none: all
    without_files boolean    NOT NULL DEFAULT false, -- whether words stand for the files that it holds
    refers       boolean     NOT NULL DEFAULT false, -- whether it may name files or agents that no step has looked for
    mentions     text[]      NOT NULL DEFAULT '{}', -- the subagents that it names
    taken_seq    bigint                             -- of its taking: the order in a view
);
CREATE INDEX prompt_refers ON prompt (id) WHERE refers;

CREATE TABLE retry (                                -- a request to retry a failed turn in a new turn
    id           text PRIMARY KEY REFERENCES work,
    failed_turn  text        NOT NULL REFERENCES turn,
    agent        text,                              -- that the failed turn's work named
    model        text,
    variant      text
);
CREATE INDEX retry_failed_turn ON retry (failed_turn);

CREATE TABLE compaction_request (                   -- of a person, for a summary in place of the context's beginning
    id           text PRIMARY KEY REFERENCES work,
    done         boolean     NOT NULL DEFAULT false -- by the turn that has taken it, whatever came of it
);

CREATE TABLE suspension (                           -- asks a person whether a session may go on
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    reason       text        NOT NULL,
    was          text,
    now_is       text,
    state        text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'closed')),
    author       text,
    suspended_at timestamptz NOT NULL DEFAULT now(),
    settled_at   timestamptz
);
CREATE UNIQUE INDEX suspension_one_open ON suspension (session) WHERE state = 'open';

CREATE TABLE stop (
    id           text PRIMARY KEY,
    session      text        NOT NULL REFERENCES session,
    turn         text REFERENCES turn,              -- none when only untaken prompts were there
    author       text        NOT NULL,
    accepted_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX stop_turn ON stop (turn);

CREATE TABLE generation (                           -- a request for an answer: who may store it, the failures so far
    id        text     PRIMARY KEY,
    session   text     NOT NULL REFERENCES session,
    purpose   text     NOT NULL CHECK (purpose IN ('step', 'compaction', 'title', 'summary', 'agent')),
    turn      text REFERENCES turn,                 -- of a step only
    step      integer,
    fence     bigint[] NOT NULL,                    -- epoch, sequence, attempt: compared in this order
    failures  integer  NOT NULL DEFAULT 0,
    waited_ms bigint   NOT NULL DEFAULT 0,
    kind      text,                                 -- of the newest failure: an HTTP status, or network
    thoughtless boolean NOT NULL DEFAULT false,     -- the model has refused its earlier thoughts: they are not sent
    failure   json,                                 -- that has ended it: what the provider has answered
    begun_at  timestamptz NOT NULL DEFAULT now(),   -- its first registration
    paused_at timestamptz,                          -- of that failure
    next_at   timestamptz,                          -- the next request waits until then
    waits_at  text,                                 -- or until a reservation of this budget ends
    reminders json,                                 -- what its first request told the model besides prompts and results
    reminders_salt bytea,
    reminders_seal text,                            -- for the event of its answer
    UNIQUE (turn, step),
    CHECK (num_nonnulls(turn, step) = CASE purpose WHEN 'step' THEN 2 ELSE 0 END)
);
CREATE INDEX generation_session ON generation (session);

CREATE INDEX generation_waits_at ON generation (waits_at) WHERE waits_at IS NOT NULL;
CREATE INDEX generation_paused ON generation (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX generation_paused_beside ON generation (session) WHERE turn IS NULL AND next_at IS NOT NULL;

CREATE TABLE attempt (                              -- what attempts at generations ask with; some end before they send it
    generation text        NOT NULL REFERENCES generation ON UPDATE CASCADE, -- a step may get another id
    fence      bigint[]    NOT NULL,
    digest     bytea       NOT NULL,                -- SHA-256 of the request
    form       json        NOT NULL,                -- what it can be built from again, besides other rows
    begun_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (generation, fence)
);

CREATE TABLE model_limit (                          -- models that were refused as over a limit of their provider's
    model    text PRIMARY KEY,                      -- provider/model
    noted_at timestamptz NOT NULL,
    until    timestamptz NOT NULL,
    probe    text,                                  -- the generation that tries it again
    probe_at timestamptz
);

CREATE TABLE aside_request (                        -- titles and summaries that a model is to give
    generation text PRIMARY KEY,                    -- the one that is to answer
    session    text NOT NULL REFERENCES session,
    purpose    text NOT NULL,                       -- a title of the session ends all requests for one
    turn       text NOT NULL REFERENCES turn,       -- whose configuration and model count
    author     text NOT NULL
);
CREATE INDEX aside_request_session ON aside_request (session);

CREATE TABLE message (                              -- committed answers of the model
    id         text PRIMARY KEY,
    session    text        NOT NULL REFERENCES session,
    generation text        NOT NULL UNIQUE REFERENCES generation,
    turn       text REFERENCES turn,                -- of a step only, as in generation
    step       integer,
    body       json        NOT NULL,                -- finish, usage, cost, model
    agent      text        NOT NULL,                -- as in the body, from here on: what SQL sums answers by
    model      text        NOT NULL,
    cost       numeric,                             -- US dollars; none: unknown
    total      bigint,                              -- tokens, as the provider counted them
    input      bigint      NOT NULL,
    output     bigint      NOT NULL,
    reasoning  bigint      NOT NULL,
    cache_read bigint      NOT NULL,
    cache_write bigint     NOT NULL,
    copied     boolean     NOT NULL DEFAULT false,  -- from another session: it was paid for there
    deleted    boolean     NOT NULL DEFAULT false,  -- its parts, and what its calls hold
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (turn, step)
);
CREATE INDEX message_session ON message (session, created_at);
CREATE INDEX message_created ON message (created_at);

CREATE TABLE compaction (                           -- answers that stand for the beginning of their session's context
    generation text PRIMARY KEY REFERENCES generation,
    session    text    NOT NULL REFERENCES session,
    number     integer NOT NULL,
    turn       text    NOT NULL REFERENCES turn,    -- of the last answer that it stands for
    step       integer NOT NULL,
    newest     text    NOT NULL REFERENCES message, -- the newest answer then
    media      boolean NOT NULL DEFAULT true,       -- whether models still see the pictures and documents up to it
    words      integer NOT NULL DEFAULT 0,          -- characters of its prompts that models still read word for word
    UNIQUE (session, number)
);

CREATE TABLE compaction_try (                       -- what was done where a context was too long
    generation text PRIMARY KEY REFERENCES generation,
    session    text    NOT NULL REFERENCES session,
    number     integer NOT NULL,
    turn       text    NOT NULL REFERENCES turn,    -- whose step waits for it
    step       integer NOT NULL,
    model      text    NOT NULL,                    -- of the turn
    tokens     integer NOT NULL,                    -- of the context then
    outcome    text    NOT NULL CHECK (outcome IN ('compacted', 'shortened', 'failed')),
    final      boolean NOT NULL,                    -- another try would fail as well
    UNIQUE (session, number)
);
CREATE INDEX compaction_try_turn ON compaction_try (turn);

CREATE TABLE part (                                 -- text and reasoning of a message; its calls are in call
    id       text PRIMARY KEY,
    message  text    NOT NULL REFERENCES message,
    position integer NOT NULL,
    kind     text    NOT NULL CHECK (kind IN ('text', 'reasoning')),    -- as in the body
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
    ordered_by   text REFERENCES prompt,            -- that has it as a subtask or a file; none: a model has asked for it
    ordered_part integer,                           -- its place among the parts of that prompt; behind them, among what its text refers to
    mentioned_by text REFERENCES prompt,            -- that mentions the agent which it gives work to; none: no prompt does
    waits_for    integer[] NOT NULL DEFAULT '{}',   -- positions of the calls before it in its answer that it waits for
    arguments    json        NOT NULL,
    salt         bytea       NOT NULL,
    recovery     text        NOT NULL,
    display      json        NOT NULL,              -- how people see the call, as its tool says
    plan         json,                              -- requests and effect, as last planned; none when planning failed
    digest       text,                              -- of the plan's effect
    loop_digest  text        NOT NULL,              -- digest of tool and arguments, for the loop guard
    room         integer,                           -- bytes that its result may have, of what the window had left; none: any
    revision     integer     NOT NULL DEFAULT 0,    -- counts drifts: asks belong to one
    state        text        NOT NULL DEFAULT 'prepared'
                 CHECK (state IN ('prepared', 'claimed', 'done', 'failed', 'unknown', 'cancelled', 'refused')),
    fence        bigint[],
    machine      text,                              -- that has the workspace and processes of the claim
    decision     json,
    outcome      json,
    outcome_salt bytea,
    claimed_at   timestamptz,
    settled_at   timestamptz,
    UNIQUE (turn, step, position),
    FOREIGN KEY (turn, step) REFERENCES message (turn, step)
);
CREATE INDEX call_ordered_by ON call (ordered_by) WHERE ordered_by IS NOT NULL;

CREATE INDEX call_session ON call (session);
CREATE INDEX call_claimed ON call (id) WHERE state = 'claimed';

CREATE TABLE pruning (                              -- which old results of tools the model sees as cleared
    turn      text        NOT NULL REFERENCES turn,
    step      integer     NOT NULL,                 -- from which on
    session   text        NOT NULL REFERENCES session,
    call      text        NOT NULL REFERENCES call, -- up to and with the result of which
    tokens    integer     NOT NULL,                 -- of the results that it has cleared, by estimate
    pruned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (turn, step)
);
CREATE INDEX pruning_session ON pruning (session);

CREATE TABLE file_change (                          -- what a settled call has changed in a file
    call      text    NOT NULL REFERENCES call,
    session   text    NOT NULL REFERENCES session,
    file      text    NOT NULL,                     -- its path, as JSON
    additions integer NOT NULL,                     -- lines
    deletions integer NOT NULL,
    PRIMARY KEY (call, file)
);
CREATE INDEX file_change_session ON file_change (session);

CREATE TABLE attached_instruction (                 -- files of instructions that results of reads carry
    session text NOT NULL REFERENCES session,
    file    text NOT NULL,                          -- its path, as JSON
    call    text NOT NULL REFERENCES call,          -- the last one that has claimed it
    PRIMARY KEY (session, file)
);
CREATE INDEX attached_instruction_call ON attached_instruction (call);

CREATE TABLE seen_file (                            -- the versions of files that a session has seen last
    session text NOT NULL REFERENCES session,
    file    text NOT NULL,                          -- its path, as JSON
    call    text NOT NULL REFERENCES call,          -- that has shown it, or left it so
    digest  text NOT NULL,                          -- SHA-256 in hex
    PRIMARY KEY (session, file)
);
CREATE INDEX seen_file_call ON seen_file (call);

CREATE TABLE task (                                 -- a call that a subagent carries out in its own session
    call         text PRIMARY KEY REFERENCES call,
    session      text        NOT NULL REFERENCES session,   -- of the call
    child        text        NOT NULL REFERENCES session,
    prompt       text        NOT NULL UNIQUE REFERENCES prompt,
    settled_at   timestamptz,                       -- when its prompt's turn ended, or its prompt was withdrawn
    delivery     text CHECK (delivery IN ('due', 'held', 'done')), -- of a result that comes by a prompt; none: the call has it
    result       text UNIQUE REFERENCES prompt      -- that prompt
);
CREATE INDEX task_child ON task (child);
CREATE INDEX task_unsettled ON task (session) WHERE settled_at IS NULL;
CREATE INDEX task_undelivered ON task (delivery, session) WHERE delivery IN ('due', 'held');

CREATE VIEW ended_task AS                           -- whose result its session is to have now: a held one while a turn asks models
SELECT call, session, child, settled_at, result FROM task WHERE settled_at IS NOT NULL AND delivery = 'due'
UNION ALL
SELECT k.call, k.session, k.child, k.settled_at, k.result
FROM turn t JOIN task k ON k.session = t.session AND k.settled_at IS NOT NULL AND k.delivery = 'held'
WHERE t.state = 'open' AND t.error IS NULL AND NOT EXISTS (SELECT FROM stop WHERE stop.turn = t.id)
  AND (SELECT w.kind FROM work w WHERE w.turn = t.id ORDER BY w.accepted_seq LIMIT 1) <> 'compaction';

CREATE TABLE wait (                                 -- a call that waits on purpose
    call       text PRIMARY KEY REFERENCES call,
    session    text        NOT NULL REFERENCES session,
    kind       text        NOT NULL CHECK (kind IN ('time', 'file', 'poke')),
    body       json        NOT NULL,                -- what it waits for
    until      timestamptz,                         -- its moment, or the latest one; none: without an end
    begun_at   timestamptz NOT NULL DEFAULT now(),
    ending     text CHECK (ending IN ('came', 'gave_up', 'changed', 'poked', 'woken', 'stopped')),
    author     text,                                -- who has ended it
    ended_at   timestamptz,
    CHECK (num_nonnulls(ending, ended_at) <> 1)
);
CREATE INDEX wait_open ON wait (session) WHERE ended_at IS NULL;

CREATE TABLE grant_ (
    id          text PRIMARY KEY,
    session     text        NOT NULL REFERENCES session,
    project     text,                               -- directory, for project scope
    host        text,                               -- that has this directory, as in session
    body        json        NOT NULL,
    author      text        NOT NULL,
    uses        integer     NOT NULL DEFAULT 0,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    revoked_at  timestamptz,
    revoked_by  text,
    propagated_at timestamptz                       -- when it had answered open asks of the project's other sessions
);
CREATE INDEX grant_session ON grant_ (session) WHERE revoked_at IS NULL;
CREATE INDEX grant_unpropagated ON grant_ (created_at) WHERE project IS NOT NULL AND propagated_at IS NULL;
CREATE INDEX grant_project ON grant_ (project) WHERE revoked_at IS NULL AND project IS NOT NULL;

CREATE SEQUENCE ask_number;
CREATE TABLE ask (
    id           text PRIMARY KEY,
    name         text        NOT NULL DEFAULT 'a' || nextval('ask_number'), -- the short one, of no later ask of this database
    session      text        NOT NULL REFERENCES session,
    turn         text        NOT NULL REFERENCES turn,
    call         text REFERENCES call,              -- none: the turn asks, at the limit of a budget
    budget       text,                              -- no foreign key: it may be a day's
    at_limit     text,                              -- the unit of the budget, and how much of it: turns may have others
    lapses_at    timestamptz,                       -- when the turn goes on without an answer: the day has turned
    revision     integer     NOT NULL,
    requests     integer[]   NOT NULL,              -- indices among the plan's requests; -1: the loop guard's
    kind         text        NOT NULL CHECK (kind IN ('permission', 'question')),
    body         json        NOT NULL,              -- the permission requests, or the questions
    digest       text        NOT NULL,
    state        text        NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'closed')),
    reply        text CHECK (reply IN ('once', 'always', 'reject', 'answer')),
    feedback     json,
    feedback_salt bytea,
    answers      json,                              -- to the questions
    answers_salt bytea,
    by_grant     text,                              -- no foreign key: it may belong to a session that is archived
    author       text,
    reason       text,
    asked_at     timestamptz NOT NULL DEFAULT now(),
    settled_at   timestamptz,
    notified_at  timestamptz,                       -- when the person's command was run for it
    answer_seq   bigint,                            -- of the event of the answer: the row alone proves nothing
    UNIQUE (call, revision, requests)
);
ALTER SEQUENCE ask_number OWNED BY ask.name;
CREATE UNIQUE INDEX ask_one_open ON ask (call) WHERE state = 'open';
CREATE UNIQUE INDEX ask_one_open_of_turn ON ask (turn) WHERE state = 'open' AND call IS NULL;
CREATE INDEX ask_open ON ask (id) WHERE state = 'open';
CREATE INDEX ask_name ON ask (name);
CREATE INDEX ask_unnotified ON ask (asked_at) WHERE state = 'open' AND notified_at IS NULL;
CREATE INDEX ask_open_session ON ask (session) WHERE state = 'open';
CREATE INDEX ask_turn ON ask (turn);
CREATE INDEX ask_by_grant ON ask (by_grant) WHERE by_grant IS NOT NULL;
CREATE INDEX ask_at_limit ON ask (budget) WHERE budget IS NOT NULL;

-- Whether a person is asked by another one, among sessions or anywhere: an earlier ask at the same limit that is open, or
-- one that was answered since this one was raised, as its turn is about to learn.
CREATE FUNCTION is_asked_by_another(waiting ask, among text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM holdfast.ask other
        WHERE other.budget = waiting.budget AND other.at_limit = waiting.at_limit
          AND (among IS NULL OR other.session = ANY(among))
          AND (other.state = 'open' AND other.id < waiting.id
               OR other.state = 'answered' AND other.settled_at >= waiting.asked_at AND other.id <> waiting.id)
    )
$$;

CREATE TABLE budget (                               -- what may be used, and has been
    id           text PRIMARY KEY,                  -- of its turn or session, or as counting_budgets names it
    scope        text        NOT NULL CHECK (scope IN ('turn', 'session', 'project', 'day')),
    session      text REFERENCES session,           -- a person's, with its subagents; none: all of a host
    host         text,                              -- as in session
    worktree     text,                              -- in a project only
    day          date,                              -- in UTC, which the counts below are of
    limits       json,                              -- none: a day's, of which each turn has its own
    raised       json        NOT NULL DEFAULT '[]', -- what people have added to limits
    by_person    boolean     NOT NULL DEFAULT false, -- else by the configuration
    configured   json,                              -- the limits of the configuration when they were applied
    on_limit     text,                              -- a person's rule for all limits that the session reaches
    cost         numeric     NOT NULL DEFAULT 0,    -- US dollars
    tokens       bigint      NOT NULL DEFAULT 0,
    steps        bigint      NOT NULL DEFAULT 0,
    estimated    numeric     NOT NULL DEFAULT 0,    -- dollars among them that no provider has counted
    started_at   timestamptz NOT NULL DEFAULT now(), -- of the limit of time
    warned       json        NOT NULL DEFAULT '[]', -- the limits of which most was used, the newest last
    warned_at    timestamptz,                       -- when most of the newest was used
    warned_in    text,                              -- the session that did
    notified_at  timestamptz                        -- when the person's command was run for that
);
CREATE INDEX budget_session ON budget (session) WHERE session IS NOT NULL;
CREATE INDEX budget_unnotified ON budget (warned_at) WHERE warned_at IS NOT NULL AND notified_at IS NULL;

CREATE VIEW budget_now AS                           -- a day's begins anew with the day
SELECT id, scope, session, host, worktree, by_person, on_limit, configured, limits AS own_limits, turned,
       CASE WHEN turned THEN '[]' ELSE raised END AS raised, CASE WHEN turned THEN '[]' ELSE warned END AS warned,
       CASE WHEN turned THEN 0 ELSE cost END AS cost, CASE WHEN turned THEN 0 ELSE tokens END AS tokens,
       CASE WHEN turned THEN 0 ELSE steps END AS steps, CASE WHEN turned THEN 0 ELSE estimated END AS estimated,
       extract(epoch FROM now() - started_at)::bigint AS time,
       extract(epoch FROM (day + 1)::timestamp AT TIME ZONE 'UTC' - now())::float8 AS rest -- seconds, of its day
FROM (SELECT *, coalesce(day < (now() AT TIME ZONE 'UTC')::date, false) AS turned FROM budget) b;

CREATE TABLE reservation (                          -- of a request that is sent, until its answer is stored
    generation   text PRIMARY KEY REFERENCES generation ON UPDATE CASCADE,
    budgets      text[]   NOT NULL,                 -- that count it, in the order of their locks; no foreign key
    day          date     NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    session      text     NOT NULL REFERENCES session,
    turn         text REFERENCES turn,              -- that waits for it
    purpose      text     NOT NULL,
    cost         numeric  NOT NULL,
    tokens       bigint   NOT NULL,
    sent_cost    numeric  NOT NULL,                 -- used as soon as it is sent
    sent_tokens  bigint   NOT NULL,
    fence        bigint[] NOT NULL,                 -- of its attempt
    reserved_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX reservation_turn ON reservation (turn);

-- What is reserved no more may be room for requests that wait, whatever has ended it. They look for themselves.
CREATE FUNCTION wake_waiting_for_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN                                               -- with the budgets' locks: what waits has begun to, or finds the room
    PERFORM FROM holdfast.budget WHERE id = ANY(OLD.budgets) ORDER BY array_position(OLD.budgets, id) FOR UPDATE;
    WITH woken AS (
        UPDATE holdfast.generation SET next_at = now()
        WHERE id IN (SELECT id FROM holdfast.generation WHERE waits_at = ANY(OLD.budgets) AND next_at > now()
                     FOR UPDATE SKIP LOCKED)
        RETURNING session, id
    )
    INSERT INTO holdfast.outbox (session, kind, subject, created_at)
    SELECT session, 'refresh', id, now() - interval '3 s' FROM woken -- overdue at once: only the sweeper sends it
    ON CONFLICT (session, kind, subject) DO UPDATE SET id = DEFAULT, created_at = excluded.created_at;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER reservation_ends AFTER DELETE ON reservation
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.purpose <> 'title') -- for which no step waits
    EXECUTE FUNCTION wake_waiting_for_room();

CREATE TABLE schedule (                             -- what is to be prompted at which times, and as whom
    id          text PRIMARY KEY,
    host        text,                               -- that has its directory, as in session
    session     text REFERENCES session,            -- that it prompts; none: it starts one each time
    timing      text        NOT NULL,               -- its times, as they were typed
    recurrence  json        NOT NULL,
    zone        text        NOT NULL,               -- IANA name
    overlap     text        NOT NULL CHECK (overlap IN ('skip', 'queue')),
    missed      text        NOT NULL CHECK (missed IN ('run', 'skip')),
    body        json,                               -- the prompt, and with what a session is created; none: it is deleted
    state       text        NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'paused', 'done', 'deleted')),
    author      text        NOT NULL,
    note        text,                               -- why it is paused
    next_at     timestamptz,                        -- its first moment that nothing was decided about
    queued_for  timestamptz,                        -- a moment whose run waits for the run before
    version     integer     NOT NULL DEFAULT 1,     -- of what Temporal has to know
    sent_version integer,                           -- that Temporal has acknowledged
    trouble     text,                               -- why it has not
    seq         bigint      NOT NULL DEFAULT 0,     -- of its last record, and the hash
    head        bytea       NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX schedule_due ON schedule (next_at) WHERE state = 'active';
CREATE INDEX schedule_session ON schedule (session) WHERE session IS NOT NULL;

CREATE TABLE schedule_record (                      -- what people have done with a schedule, and what came of its moments
    schedule  text        NOT NULL REFERENCES schedule,
    seq       bigint      NOT NULL,
    kind      text        NOT NULL,
    author    text        NOT NULL,                 -- of a moment: whom it prompts as
    nominal   timestamptz,                          -- the moment
    session   text,                                 -- that was prompted
    prompt    text,
    note      text,
    salt      bytea,                                -- of the seal; none: it is deleted
    seal      text,                                 -- of the note; of what was created
    at        timestamptz NOT NULL,
    prev_hash bytea       NOT NULL,
    hash      bytea       NOT NULL,                 -- over the columns but note and salt
    PRIMARY KEY (schedule, seq)
);
CREATE UNIQUE INDEX schedule_record_once ON schedule_record (schedule, nominal) WHERE kind = 'started';
CREATE UNIQUE INDEX schedule_record_prompt ON schedule_record (prompt) WHERE prompt IS NOT NULL;

CREATE TABLE trust (                                -- the end of the records of a project's trust: its row lock is theirs
    id        text PRIMARY KEY,                     -- host and work tree, as trust_id names them
    host      text,                                 -- as in project
    worktree  text        NOT NULL,
    seq       bigint      NOT NULL DEFAULT 0,       -- of its last record, and the hash
    head      bytea       NOT NULL
);

CREATE TABLE trust_record (                         -- what people have decided about the files of a project
    trust     text        NOT NULL REFERENCES trust,
    seq       bigint      NOT NULL,
    kind      text        NOT NULL CHECK (kind IN ('accepted', 'declined', 'revoked')),
    directory text        NOT NULL,                 -- whose configuration it was
    digest    text,                                 -- of the content; none: everything that was accepted before is revoked
    content   json        NOT NULL,                 -- starts, rules, and the digest of the rules in the person's own files
    author    text        NOT NULL,
    method    text        NOT NULL,                 -- the door
    at        timestamptz NOT NULL,
    prev_hash bytea       NOT NULL,
    hash      bytea       NOT NULL,                 -- over the columns but content
    PRIMARY KEY (trust, seq)
);

CREATE TABLE outbox (                               -- signals still to be sent: written with the row that each is about
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session    text        NOT NULL,                -- no foreign key: it would lock the session, which may be a parent
    kind       text        NOT NULL CHECK (kind IN ('work', 'answer', 'stop', 'settled', 'title', 'summary', 'resume', 'refresh')),
    subject    text        NOT NULL,                -- id of that row
    turn       text,                                -- that a stop names
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (session, kind, subject)
);

CREATE TABLE file_removal (                         -- calls that are deleted, while a host may have files of theirs
    call text PRIMARY KEY,
    host text                                       -- as in session
);
CREATE INDEX file_removal_host ON file_removal (host);

CREATE TABLE refresh (                              -- what was done for a session that has not moved since
    session  text PRIMARY KEY REFERENCES session,
    run      text,                                  -- the Temporal run that was refreshed last, if there was one
    count    integer     NOT NULL,                  -- refreshes since the last restart
    restarts integer     NOT NULL,
    at       timestamptz NOT NULL
);

CREATE TABLE note (                                 -- messages of providers and errors, which events name by their seal
    id      text PRIMARY KEY,
    session text  NOT NULL REFERENCES session,
    body    json  NOT NULL,
    salt    bytea NOT NULL
);
CREATE INDEX note_session ON note (session);

CREATE TABLE fault (                                -- failures of our own code, counted so that retries end
    session  text   NOT NULL REFERENCES session,
    work     text   NOT NULL,                       -- what failed: a step, a call, a load, a close
    attempts text[] NOT NULL,                       -- that failed, each once
    PRIMARY KEY (session, work)
);

CREATE TABLE refusal (                              -- activities that were refused, by reason and caller
    session text    NOT NULL REFERENCES session,
    reason  text    NOT NULL CHECK (reason IN ('foreign', 'epoch', 'stale')),
    caller  text    NOT NULL,                       -- a workflow or run; the first few have a row each
    times   integer NOT NULL DEFAULT 1,
    PRIMARY KEY (session, reason, caller)
);

CREATE TABLE todo (
    session text PRIMARY KEY REFERENCES session,
    items   json NOT NULL
);

CREATE UNLOGGED TABLE delta (                       -- partial answers and live output; may be lost
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session text    NOT NULL,
    source  text    NOT NULL,                       -- message or call
    attempt text    NOT NULL,
    body    json    NOT NULL,
    at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX delta_source ON delta (source);
CREATE INDEX delta_session ON delta (session, id);

-- The budgets that count what a session uses, if there are such, in the order of their locks: of the open turn and the
-- session at the top of its tree, and of the day, in its project and on its host. In the same places, the limits of a day
-- that this session's newest turn has.
CREATE FUNCTION counting_budgets(counted text, OUT ids text[], OUT day_limits json[]) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE line AS (
        SELECT id, parent, host, coalesce(worktree, directory) AS project FROM holdfast.session WHERE id = counted
        UNION ALL
        SELECT s.id, s.parent, s.host, coalesce(s.worktree, s.directory) FROM holdfast.session s JOIN line ON s.id = line.parent
    )
    SELECT ARRAY[(SELECT t.id FROM holdfast.turn t WHERE t.session = line.id AND t.state = 'open'), line.id,
                 'project:' || coalesce(host, '') || ':' || project, 'day:' || coalesce(host, '')],
           (SELECT ARRAY[NULL, NULL, t.project_limits, t.day_limits] FROM holdfast.turn t WHERE t.session = line.id
            ORDER BY t.number DESC LIMIT 1)
    FROM line WHERE line.parent IS NULL
$$;

-- What a session and those below it have used.
CREATE FUNCTION used_by_tree(top text, OUT cost numeric, OUT tokens bigint, OUT steps bigint) LANGUAGE sql STABLE AS $$
    WITH RECURSIVE tree AS (
        SELECT top AS id UNION ALL SELECT s.id FROM holdfast.session s JOIN tree ON s.parent = tree.id
    )
    SELECT coalesce(sum(m.cost), 0),
           coalesce(sum(m.input + m.output + m.reasoning + m.cache_read + m.cache_write), 0)::bigint, count(m.step)
    FROM holdfast.message m JOIN tree ON m.session = tree.id WHERE NOT m.copied
$$;

-- Optimistic concurrency: each function locks a row that must still be as the caller has last seen it, and fails
-- otherwise. A caller whose decision rests on that row need not read it again.
CREATE FUNCTION hold_session(held text, last_hash bytea, newest_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM session_head h JOIN session s ON s.id = h.session
    WHERE h.session = held AND h.head = last_hash AND h.epoch = newest_epoch AND s.archive IS NULL
    FOR UPDATE OF h, s;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'session % has moved on', held USING ERRCODE = 'serialization_failure';
    END IF;
END $$;
CREATE FUNCTION hold_generation(held text, holder bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM generation WHERE id = held AND fence = holder FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'generation % has moved on', held USING ERRCODE = 'serialization_failure';
    END IF;
END $$;

-- The answers that statistics count. A plain query, which PostgreSQL expands where it is used.
CREATE FUNCTION counted_answers(
    since timestamptz, before timestamptz, of_sessions text[], in_directory text, below text, of_worktree text,
    on_host text, by_agents text[]
) RETURNS SETOF message LANGUAGE sql STABLE AS $$
    SELECT m.* FROM message m JOIN session s ON s.id = m.session
    WHERE NOT m.copied
      AND (since IS NULL OR m.created_at >= since) AND (before IS NULL OR m.created_at < before)
      AND (of_sessions IS NULL OR s.id = ANY(of_sessions))
      AND (in_directory IS NULL OR s.directory = in_directory)
      AND (below IS NULL OR starts_with(rtrim(s.directory, '/') || '/', below))
      AND (of_worktree IS NULL OR s.worktree = of_worktree)
      AND (num_nonnulls(in_directory, below, of_worktree) = 0 OR s.host IS NOT DISTINCT FROM on_host)
      AND (by_agents IS NULL OR m.agent = ANY(by_agents))
$$;

CREATE FUNCTION refuse_event_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN                        -- of archived events; session_head keeps the last hash
        IF EXISTS (SELECT FROM holdfast.session WHERE id = OLD.session AND status = 'archived') THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the event log is append-only';
END $$;
CREATE TRIGGER event_append_only BEFORE UPDATE OR DELETE ON event
    FOR EACH ROW EXECUTE FUNCTION refuse_event_change();
CREATE TRIGGER event_no_truncate BEFORE TRUNCATE ON event
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_event_change();
ALTER TABLE event ENABLE ALWAYS TRIGGER event_append_only;
ALTER TABLE event ENABLE ALWAYS TRIGGER event_no_truncate;
