"""The git settings that start no program and read no other file."""

import re
from collections.abc import Iterator
from typing import Final

_BLANK: Final = re.compile(r"[ \t]*(?:[#;].*)?")
_SECTION: Final = re.compile(r'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*(?:[#;].*)?')
_SETTING: Final = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_STRANGE: Final = re.compile(r"[^\t\x20-\U0010ffff]")  # git may treat these as blanks or ends of lines

_ID_BYTES: Final = {"sha1": 20, "sha256": 32}

# Sections whose settings are all harmless (a final dot: sections with a name). git ignores an alias with the name of a
# git command; gitbutler, gitflow and github are other programs.
_HARMLESS_SECTIONS: Final = """advice alias alias. color color. column commitgraph extensions feature fetch fsck
    gitbutler gitflow gitflow. github grep gui http http. i18n index maintenance pack pretty pull push receive rerere
    revert showbranch stash status transfer versionsort worktree"""
# Further settings by section. Hooks run only in commands that change something (the others: `READ_ONLY_GIT`), and
# allowing a commit allows its hooks.
_HARMLESS: Final = {
    section: frozenset(names.split())
    for section, names in {
        "apply": "whitespace ignorewhitespace",
        "blame": "coloring date showemail showroot markunblamablelines markignoredlines",
        "branch": "autosetupmerge autosetuprebase sort",
        "branch.": """remote merge rebase pushremote description base vscode-merge-base gh-merge-base
            github-pr-owner-number github-pr-base-branch""",
        "commit": "cleanup gpgsign status verbose",
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
        "filter.": "required",
        "format": "pretty",
        "gc": "auto autodetach autopacklimit cruftpacks packrefs pruneexpire reflogexpire reflogexpireunreachable",
        "gpg": "format",
        "help": "autocorrect format",
        "init": "defaultbranch",
        "lfs": "repositoryformatversion",
        "lfs.": "access locksverify",
        "log": "abbrevcommit date decorate diffmerges follow graphcolors showroot",
        "merge": "autostash branchdesc conflictstyle directoryrenames ff log renamelimit renames stat verbosity",
        "merge.": "name recursive",
        "rebase": "abbreviatecommands autosquash autostash forkpoint rebasemerges stat updaterefs",
        "remote": "pushdefault",
        "remote.": """fetch followremotehead gh-resolved mirror partialclonefilter promisor prune prunetags push pushurl
            skipdefaultupdate skipfetchall tagopt url github-pr-remote""",
        "submodule": "active fetchjobs propagatebranches recurse",
        "submodule.": "active branch fetchrecursesubmodules ignore path shallow url",
        "tag": "gpgsign sort",
        "url.": "insteadof pushinsteadof",
        "user": "email name signingkey useconfigonly",
    }.items()
}


def unknown_setting(content: str) -> str | None:
    """The first setting not known to be harmless, or line that git may read differently, if any. Includes
    `core.worktree`: only the caller knows where it may lead."""
    try:
        for section, name, setting, _ in _settings(content):
            if not _harmless(section, name, setting.lower()):
                return ".".join(part for part in (section, name, setting) if part is not None)
    except ValueError:
        return "a line that can be read in two ways"
    return None


def id_bytes(content: str) -> int:
    """Length of the object ids in a repository with this configuration. Raises ValueError."""
    size = 20
    for section, name, setting, value in _settings(content):
        if (section, name, setting.lower()) == ("extensions", None, "objectformat"):
            if value not in _ID_BYTES:
                raise ValueError(value)
            size = _ID_BYTES[value]
    return size


def _settings(content: str) -> Iterator[tuple[str, str | None, str, str | None]]:
    """Section, name in it, setting, value. Raises ValueError for a line that git may read differently."""
    section, name = "", None
    for line in content.replace("\r\n", "\n").split("\n"):
        if _STRANGE.search(line) or line.endswith("\\"):
            raise ValueError(line)
        if _BLANK.fullmatch(line):
            continue
        if found := _SECTION.fullmatch(line):
            section, dot, named = found[1].lower().partition(".")
            name = named if dot else found[2]
        elif (found := _SETTING.fullmatch(line)) and section:
            yield section, name, found[1], found[2]
        else:
            raise ValueError(line)


def _harmless(section: str, name: str | None, setting: str) -> bool:
    part = section if name is None else f"{section}."
    return part in _HARMLESS_SECTIONS.split() or setting in _HARMLESS.get(part, ())
