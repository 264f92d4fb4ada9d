"""Reads the text of a stack, as far as a group of errors needs it: where in the application's own code it was raised.

Agents write stacks as their languages do. Python ends with the frame that raised, Java and JavaScript begin with it. A
chain of Python's exceptions ends with the one that was seen, one of Java's begins with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LONGEST = 100_000
"""Characters of a stack that are read, its end."""
_PYTHON = re.compile(r'^[ \t]{0,50}File "([^"\n]{1,1000})", line (\d{1,9})(?:, in (.{1,500}))?', re.MULTILINE)
_CALLED = re.compile(
    r"^[ \t]{0,50}at (?:async )?(?:([^\n(]{1,500}?) ?\()?([^()\n]{0,1000}?)(?::(\d{1,9}))?(?::\d{1,9})?\)?$",
    re.MULTILINE,
)
_CAUSES = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_CAUSED = re.compile(r"^[ \t]{0,50}(?:Caused by|Suppressed): ", re.MULTILINE)
_LIBRARY_PATH = re.compile(
    r"(?:^|[/\\])(?:site-packages|dist-packages|node_modules|node:[^/]*|lib[/\\]python\d[.\d]*)(?:[/\\]|$)|^<|^node:"
    # the agent, where it is installed from a checkout: its frames are between those of a call that it records
    r"|[/\\]swagent[/\\](?:asgi|instrument|opentelemetry|profile|record|runtime|wsgi)[/\\]"
)
_LIBRARY_NAMES = (
    *("java.", "javax.", "jdk.", "sun.", "com.sun.", "jakarta.", "kotlin.", "kotlinx.", "scala.", "groovy."),
    *("org.springframework.", "org.apache.", "org.hibernate.", "org.eclipse.", "org.jboss.", "io.netty."),
    *("io.undertow.", "reactor."),
)


class Frame(NamedTuple):
    """A place in a stack."""

    file: str
    line: int
    function: str

    @property
    def is_library(self) -> bool:
        """Whether it is code that the application only uses."""
        return bool(_LIBRARY_PATH.search(self.file)) or self.function.startswith(_LIBRARY_NAMES)


def frames(stack: str) -> Iterator[Frame]:
    """The frames of the exception that was seen, the one that raised first."""
    text = stack[-LONGEST:]
    if _PYTHON.search(text) is not None:
        places = _PYTHON.findall(text[max(text.rfind(each) for each in _CAUSES) + 1 :])
        found = [(file, line, function) for file, line, function in reversed(places)]
    else:
        text = _CAUSED.split(stack[:LONGEST], maxsplit=1)[0]
        found = [(file, line, function) for function, file, line in _CALLED.findall(text)]
    for file, line, function in found:
        yield Frame(file, int(line or 0), function.strip())


def own_frame(stack: str) -> Frame | None:
    """The frame of the application's own that is nearest to where it was raised; a library's where there is none; None
    where the text has no frame."""
    nearest: Frame | None = None
    for frame in frames(stack):
        if not frame.is_library:
            return frame
        nearest = nearest or frame
    return nearest


def last_line(stack: str) -> tuple[str, str]:
    """The kind and the message at the end of a traceback of Python: in the first line behind its places that is not
    indented. A message may have several lines."""
    text = stack[-LONGEST:].rstrip()
    end = max((place.end() for place in _PYTHON.finditer(text)), default=0)
    lines = text[end:].split("\n")
    found = next((line for line in lines[1:] if line and not line[0].isspace()), lines[-1])
    kind, _, message = found.partition(": ")
    return kind.strip(), message
