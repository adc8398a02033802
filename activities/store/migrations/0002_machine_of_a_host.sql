ALTER TABLE host
    ADD COLUMN machine text,                            -- the data directory of its workers, by a name of its own
    ADD COLUMN address text;                            -- where the last one of them has connected from
