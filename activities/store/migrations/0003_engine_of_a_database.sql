CREATE TABLE engine (                                   -- which Temporal runs the sessions: one, or each would run twice
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    namespace text NOT NULL,                            -- by the id that Temporal has given it
    target    text NOT NULL,                            -- what its last worker calls it: NAMESPACE at HOST:PORT
    address   text,                                     -- where that worker has connected from
    seen_at   timestamptz NOT NULL
);
