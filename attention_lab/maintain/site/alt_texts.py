"""The lessons' pictures in words, for those who cannot see them: `alt_texts.toml` beside this file."""

from __future__ import annotations

import tomllib
from pathlib import Path

from attention_lab.errors import CourseError

ALT_TEXTS = Path(__file__).with_name("alt_texts.toml")


def alt_texts_of(folder: str) -> dict[str, str]:
    """The texts of one lesson's pictures, by the id of the cell that draws them."""
    try:
        texts: dict[str, dict[str, str]] = tomllib.loads(ALT_TEXTS.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{ALT_TEXTS} cannot be read: {error}. Fix that line.") from None
    return texts.get(folder, {})
