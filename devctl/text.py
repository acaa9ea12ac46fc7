r"""Words of others, made fit to be shown: the one place where that is done.

A pod runs what its user's image holds, an object says what somebody wrote into it, and a terminal
does what it is told by control characters: it can write the clipboard, answer in a person's place,
draw a prompt that is none. So this is the rule.

- **What devctl says in lines of its own** is printable text: errors (DevctlError itself sees to
  it), statuses, Events, names, tables. `readable` and `one_line` show everything else escaped, as
  `\x1b`: whoever looks sees that it was there. Documents (`-o json|yaml`) escape it by their own
  rules.
- **What a program has printed**, as `run`, `attach`, `logs` and `egpu logs` show it on a terminal,
  keeps text, line ends, tabs, carriage returns and colours (SGR). `Screen` drops all other control
  characters and sequences: OSC, DCS, every other CSI.
- **Raw** are the bytes of a session that a person has opened themselves, for programs that draw on
  the screen: `exec`, `ssh`, `egpu debug`; and all output off a terminal, where files and pipes get
  what was printed.
"""

from __future__ import annotations

import codecs
import re

_FIRST_BYTE = 0xDC00

_CSI = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*"
# What a string holds that a terminal takes in as a whole; it ends with its line at the latest.
_STRING = r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x80-\x9f]*"
_OTHER = r"\x1b[ -/]*"
_ANY = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
_CONTROL = re.compile(_ANY)
_SEQUENCE = re.compile(
    rf"(\x1b\[[0-9;:]*m)|{_CSI}[@-~]|{_STRING}(?:\x07|\x9c|\x1b\\)|{_OTHER}[0-~]|{_ANY}"
)
_BEGUN = re.compile(rf"(?:{_CSI}|{_STRING}\x1b?|{_OTHER})\Z")
_LONGEST = 4096
"""Characters of a sequence that is waited for; what has more is none."""
_RESET = "\x1b[0m"
RESET = _RESET.encode()
"""Ends all colours."""


def readable(text: str) -> str:
    r"""A text with everything escaped that is not printable.

    >>> readable("a\nb\x1b[31m\udcff")
    'a\\nb\\x1b[31m\\xff'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def one_line(value: object) -> str:
    r"""A value as one line of printable text; in one that is none, each run of blanks is one.

    >>> one_line("one\n two"), one_line("\x1b[31mred")
    ('one two', '\\x1b[31mred')
    """
    text = str(value)
    return text if text.isprintable() else readable(" ".join(text.split()))


class Screen:
    r"""What a program prints, as a terminal may get it.

    >>> screen = Screen()
    >>> screen.take(b"\x1b]0;title\x07\x1b[31mred\x1b"), screen.take(b"[2J\r\n"), screen.end()
    (b'\x1b[31mred', b'\r\n', b'\x1b[0m')
    """

    def __init__(self) -> None:
        """Nothing yet."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._coloured = False

    def take(self, data: bytes) -> bytes:
        """What may be shown of what comes next; a sequence that is not whole waits for its end."""
        return self._clean(self._held + self._decoder.decode(data)).encode()

    def end(self) -> bytes:
        """The rest, and an end of its colours."""
        text = self._clean(self._held + self._decoder.decode(b"", final=True))
        self._held = ""
        text += _RESET if self._coloured else ""
        self._coloured = False
        return text.encode()

    def _clean(self, text: str) -> str:
        if not _CONTROL.search(text):
            self._held = ""
            return text
        begun = _BEGUN.search(text, max(0, len(text) - _LONGEST))
        end = begun.start() if begun else len(text)
        self._held = text[end:]
        return _SEQUENCE.sub(self._kept, text[:end])

    def _kept(self, found: re.Match[str]) -> str:
        colour = found[1] or ""
        if colour:
            self._coloured = colour not in {"\x1b[m", _RESET}
        return colour


def on_screen(data: bytes) -> bytes:
    """The same of what a program has printed in all."""
    screen = Screen()
    return screen.take(data) + screen.end()


def _escape(letter: str) -> str:
    if letter == "\0":
        return "\\0"
    byte = ord(letter) - _FIRST_BYTE
    # A byte that is not UTF-8 is a surrogate.
    return (
        f"\\x{byte:02x}" if byte in range(0x80, 0x100) else letter.encode("unicode_escape").decode()
    )
