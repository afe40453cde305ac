"""The options of `nbgrader_config.py`, as `nbjudge.settings` defines and explains them."""

from __future__ import annotations

from collections.abc import Iterator

from nbjudge.course.configuration import options_of
from nbjudge.settings import SECTIONS, Section

SETTING = """
```{{confval}} c.{section}.{name}
:type: {type}
:default: `{default!r}`

{help}
```
"""


def settings() -> str:
    """Write a section in Markdown for each section of the configuration, in the order of its code."""
    return "\n".join(f"## {_title(each)}\n{''.join(_entries(each))}" for each in SECTIONS if options_of(each))


def _title(section: type[Section]) -> str:
    return (section.__doc__ or section.config_name).rstrip(".")


def _entries(section: type[Section]) -> Iterator[str]:
    for name, trait in options_of(section).items():
        yield SETTING.format(
            section=section.config_name,
            name=name,
            type=trait.info(),
            default=trait.default(),
            help=trait.help,
        )
