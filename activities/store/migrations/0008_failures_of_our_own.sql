ALTER TABLE generation
    ADD COLUMN broken text[] NOT NULL DEFAULT '{}';     -- the attempts that failed by a fault of ours, each once
