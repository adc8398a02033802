"""The git settings that start no program and read no other file."""

import re
from typing import Final

_BLANK: Final = re.compile(r"[ \t]*(?:[#;].*)?")
_SECTION: Final = re.compile(r'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*(?:[#;].*)?')
_SETTING: Final = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_STRANGE: Final = re.compile(r"[^\t\x20-\U0010ffff]")  # git may treat these as blanks or ends of lines

# Settings by section; `section.` has a name in it, `*` is any setting. Hooks run only in commands that change something
# (the others: `READ_ONLY_GIT`), and allowing a commit allows its hooks.
_HARMLESS: Final = {
    section: frozenset(names.split())
    for section, names in {
        "advice": "*",
        "alias": "*",  # git ignores an alias named like its own command
        "alias.": "*",
        "apply": "whitespace ignorewhitespace",
        "blame": "coloring date showemail showroot markunblamablelines markignoredlines",
        "branch": "autosetupmerge autosetuprebase sort",
        "branch.": """remote merge rebase pushremote description base vscode-merge-base gh-merge-base
            github-pr-owner-number github-pr-base-branch""",
        "color": "*",
        "color.": "*",
        "column": "*",
        "commit": "cleanup gpgsign status verbose",
        "commitgraph": "*",
        "core": """abbrev autocrlf bare bigfilethreshold checkstat commentchar commitgraph compression
            deltabasecachelimit eol excludesfile filemode fscache fsmonitor fsmonitorhookversion fsync
            fsyncmethod fsyncobjectfiles hidedotfiles hookspath ignorecase ignorestat logallrefupdates longpaths
            loosecompression maxtreedepth multipackindex packedgitlimit packedgitwindowsize precomposeunicode
            prefersymlinkrefs preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf
            sharedrepository sparsecheckout sparsecheckoutcone splitindex symlinks trustctime untrackedcache
            usereplacerefs warnambiguousrefs whitespace""",
        "credential": "username usehttppath",
        "credential.": "username usehttppath",
        "diff": """algorithm autorefreshindex colormoved colormovedws context dirstat ignoresubmodules indentheuristic
            interhunkcontext mnemonicprefix noprefix relative renamelimit renames statgraphwidth statnamewidth submodule
            suppressblankempty tool wordregex wserrorhighlight""",
        "diff.": "algorithm binary cachetextconv funcname wordregex xfuncname",
        "extensions": "*",
        "feature": "*",
        "fetch": "*",
        "filter.": "required",
        "format": "pretty",
        "fsck": "*",
        "gc": "auto autodetach autopacklimit cruftpacks packrefs pruneexpire reflogexpire reflogexpireunreachable",
        "gitbutler": "*",  # these four belong to other programs
        "gitflow": "*",
        "gitflow.": "*",
        "github": "*",
        "gpg": "format",
        "grep": "*",
        "gui": "*",
        "help": "autocorrect format",
        "http": "*",
        "http.": "*",
        "i18n": "*",
        "index": "*",
        "init": "defaultbranch",
        "lfs": "repositoryformatversion",
        "lfs.": "access locksverify",
        "log": "abbrevcommit date decorate diffmerges follow graphcolors showroot",
        "maintenance": "*",
        "merge": "autostash branchdesc conflictstyle directoryrenames ff log renamelimit renames stat verbosity",
        "merge.": "name recursive",
        "pack": "*",
        "pretty": "*",
        "pull": "*",
        "push": "*",
        "rebase": "abbreviatecommands autosquash autostash forkpoint rebasemerges stat updaterefs",
        "receive": "*",
        "remote": "pushdefault",
        "remote.": """fetch followremotehead gh-resolved mirror partialclonefilter promisor prune prunetags push pushurl
            skipdefaultupdate skipfetchall tagopt url github-pr-remote""",
        "rerere": "*",
        "revert": "*",
        "showbranch": "*",
        "stash": "*",
        "status": "*",
        "submodule": "active fetchjobs propagatebranches recurse",
        "submodule.": "active branch fetchrecursesubmodules ignore path shallow url",
        "tag": "gpgsign sort",
        "transfer": "*",
        "url.": "insteadof pushinsteadof",
        "user": "email name signingkey useconfigonly",
        "versionsort": "*",
        "worktree": "*",
    }.items()
}


def unknown_setting(content: str) -> str | None:
    """The first setting not known to be harmless, or line that git may read differently, if any. Includes
    `core.worktree`: only the caller knows where it may lead."""
    section, name = "", None
    for line in content.replace("\r\n", "\n").split("\n"):
        if _STRANGE.search(line) or line.endswith("\\"):
            return "a line that can be read in two ways"
        if _BLANK.fullmatch(line):
            continue
        if found := _SECTION.fullmatch(line):
            section, dot, named = found[1].lower().partition(".")
            name = named if dot else found[2]
        elif not (found := _SETTING.fullmatch(line)) or not section:
            return "a line that can be read in two ways"
        elif not _harmless(section, name, found[1].lower()):
            return ".".join(part for part in (section, name, found[1]) if part is not None)
    return None


def _harmless(section: str, name: str | None, setting: str) -> bool:
    known = _HARMLESS.get(section if name is None else f"{section}.", frozenset())
    return "*" in known or setting in known
