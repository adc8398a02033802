"""The process that turns a page into Markdown or plain text: one page, within limits that the kernel keeps."""

import os
import resource
import signal
import sys
from typing import Final

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

from activities.shell.supervisor.process import die_with_parent

_MEMORY_LIMIT: Final = 1024 * 1024 * 1024  # bytes: a page of 5 MB takes 160 MB
_SECONDS: Final = 10.0  # a page of 5 MB takes one
_TOO_DEEP: Final = "\n\n(What this page nests deeper than 1,000 elements is left out; the format html has it.)"


def main() -> None:
    """Standard input: the page. Arguments: the format, and the page's address, which its links are relative to."""
    die_with_parent()
    os.nice(5)  # turns of other sessions go first
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_LIMIT, _MEMORY_LIMIT))
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)  # the kernel ends this process then: nothing handles the signal
    output_format, url = sys.argv[1:]
    options = ConversionOptions(
        output_format=output_format,
        base_url=url,
        compact_tables=True,  # padding would multiply the size of a table
        inline_data_media="alt_text_only",
        extract_metadata=False,
        preprocessing=PreprocessingOptions(enabled=False),  # it drops navigation and forms
    )
    found = convert(sys.stdin.buffer.read().decode(), options)
    text = (found.content or "").strip() + (_TOO_DEEP if found.warnings else "")
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
