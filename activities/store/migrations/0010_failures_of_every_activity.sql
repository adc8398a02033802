CREATE TABLE fault (                                -- failures of our own code: what keeps failing comes to an end
    session  text   NOT NULL REFERENCES session,
    work     text   NOT NULL,                       -- what has failed: a step, a call, a load, a close
    attempts text[] NOT NULL,                       -- those that have failed, each once
    PRIMARY KEY (session, work)
);
ALTER TABLE generation DROP COLUMN broken;
