"""Templates compiled before runs are forked: a third of a small role's own time.

Jinja keeps no compiled template beyond a process. The code depends on the text and on how it is cut
into tokens, on nothing of a run; so what the warm process has compiled is there for every run, and
what it has not is compiled as ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from types import CodeType

# How a text is cut; an overlay of the environment may change it.
_SETTINGS = (
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "line_statement_prefix",
    "line_comment_prefix",
    "trim_blocks",
    "lstrip_blocks",
    "newline_sequence",
    "keep_trailing_newline",
)


def remember_compiled() -> None:
    """From now on, compile each template text once in this process and those forked from it."""
    from ansible._internal._templating import _jinja_bits as bits  # noqa: PLC0415 - by warm_up

    compile_anew = bits.AnsibleEnvironment.compile
    known: dict[Any, CodeType] = {}

    def compile_once(self: Any, source: Any, *args: Any, **kwargs: Any) -> Any:
        context = bits._TemplateCompileContext.current(optional=True)  # noqa: SLF001
        if not isinstance(source, str) or args or kwargs or context is None:
            return compile_anew(self, source, *args, **kwargs)
        # `str`: two texts that differ in their tags only are the same text.
        settings = tuple(getattr(self, name) for name in _SETTINGS)
        key = (type(self), str(source), context.escape_backslashes, settings)
        if key not in known:
            known[key] = compile_anew(self, source)
        return known[key]

    bits.AnsibleEnvironment.compile = compile_once


def compile_role(role: Path, loader: Any) -> None:
    """Compile everything in a role that a run of it will: templates, variables, arguments."""
    from ansible._internal._templating import _engine  # noqa: PLC0415 - imported by warm_up
    from ansible._internal._templating._jinja_bits import TemplateOverrides  # noqa: PLC0415

    engine = _engine.TemplateEngine(loader)
    # As ansible.builtin.template has them compiled, and `apply`.
    overrides = TemplateOverrides.from_kwargs({"trim_blocks": True, "lstrip_blocks": False})
    file = _engine.TemplateOptions(escape_backslashes=False, overrides=overrides)
    for path in sorted(role.glob("templates/**/*.j2")):
        engine._compile_template(path.read_text(encoding="utf-8"), file)  # noqa: SLF001
    for folder in ("tasks", "vars", "defaults"):
        for path in sorted(role.glob(f"{folder}/**/*.yml")):
            for text in texts(loader.load_from_file(str(path), cache="none")):
                if "{{" in text:
                    engine._compile_template(text, _engine.TemplateOptions.DEFAULT)  # noqa: SLF001


def texts(value: Any) -> Iterator[str]:
    """Every text in a YAML document, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        inner: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for entry in inner:
            yield from texts(entry)
