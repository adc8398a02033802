"""Where our requests differ from OpenCode's, and why.

Places are patterns of paths: the run, what it sends (`messages`), a message's role, a part's kind, a field.
"""

from collections.abc import Mapping
from typing import Final

DECIDED: Final[Mapping[str, str]] = {
    "*/system/parts/prompt/prompt": "our own words, shorter",
    "*/system/parts/environment/environment/*": "our own words; the date is a reminder: the prefix outlives the day",
    "*/system/parts/skills*": "no skill about the program itself: its documentation is on the net",
    "*/system/parts/instructions/*": "files of one pattern come in the order of their names",
    "*/user/parts/reminder": "the first prompt has a reminder of the date",
    "/*file/*/user/parts/text*": "what a prompt names is read by a call of `read`: decided, recorded and shown as one",
    "/*file/*/assistant": "that call",
    "/*file/*/tool": "its result",
    "/directory/messages/messages/*": "the same with a directory",
    "*/tools/task/background?": "work in the background outlives restarts here, and is no experiment",
    "*/tools/task/command?": "a slash command's: a model has no use for it",
    "*/tools/question": "OpenCode's `run` has nobody to ask; here a question waits as long as it takes",
    "*/tools/plan_*": "as question",
    "*/tools/wait": "a tool of ours: waits outlive restarts",
    "*/options/tool_choice": "`auto` is what providers take where nothing is said",
    "*/options/temperature": "an agent's is sent to models that nothing is known of; OpenCode leaves it out there",
}
