ALTER TABLE session
    ADD COLUMN sources json;                            -- where its configuration is looked for; a subagent's: none
