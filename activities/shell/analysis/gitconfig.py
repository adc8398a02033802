"""The git settings that start no program and read no other file."""

import re
from typing import Final

_BLANK: Final = re.compile(r"[ \t]*(?:[#;].*)?")
_SECTION: Final = re.compile(r'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\][ \t]*(?:[#;].*)?')
_SETTING: Final = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*))?")
_STRANGE: Final = re.compile(r"[^\t\x20-\U0010ffff]")  # git may treat these as blanks or ends of lines

# Sections (with a dot: with a name in them) of which any setting is harmless: git ignores an alias named like its own
# command, and gitbutler, gitflow and github are other programs.
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
    part = section if name is None else f"{section}."
    return part in _HARMLESS_SECTIONS.split() or setting in _HARMLESS.get(part, ())
