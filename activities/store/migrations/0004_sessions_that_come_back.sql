ALTER TABLE session
    ADD COLUMN restored_at timestamptz;                 -- when it came back from an archive: from then it rests anew

-- What has answered an ask of a restored session may be another session's grant, in a database that is not this one.
ALTER TABLE ask
    DROP CONSTRAINT ask_by_grant_fkey;
