"""OpenCode's configuration: fields, merging of files, and what a project may not decide alone."""
