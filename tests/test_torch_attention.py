"""Each entry of docs/torch-attention.md prints what the page says, in the versions that it names.

The entries are data in the page: this file reads the examples, runs them and compares. Add one there.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

PAGE = Path(__file__).resolve().parents[1] / "docs" / "torch-attention.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PARTS = ["One would guess:", "What happens:", "Holds for ", "Why:", "Write instead:"]


@dataclass
class Entry:
    """One row: its heading, the whole text, what runs before it, and the section that it is in."""

    title: str
    text: str
    setup: str
    section: str

    @property
    def code(self) -> str:
        return next(code for language, code in BLOCK.findall(self.text) if language == "python")

    @property
    def printed(self) -> str:
        return next((text for language, text in BLOCK.findall(self.text) if language == "text"), "")

    @property
    def requirements(self) -> list[Requirement]:
        (versions,) = re.findall(r"^Holds for (.*?)\. Why:", self.text, re.DOTALL | re.MULTILINE)
        return [Requirement(text) for text in re.findall(r"`(.+?)`", versions)]


def entries() -> list[Entry]:
    """The rows of the page; what a section says before its first row is run before each of them."""
    first, *sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    shared, found = code_of(first), []
    for section in sections:
        begin, *rows = re.split(r"^### ", section, flags=re.MULTILINE)
        setup, name = shared + code_of(begin), begin.partition("\n")[0]
        found += [Entry(row.partition("\n")[0], row, setup, name) for row in rows]
    return found


def code_of(text: str) -> str:
    return "".join(code for language, code in BLOCK.findall(text) if language == "python")


def slug(heading: str) -> str:
    """The anchor that GitHub and the site make of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def run(entry: Entry) -> str:
    """Run an example on its own and return what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(entry.setup + entry.code, entry.title, "exec"), {})
    return output.getvalue()


@pytest.fixture(autouse=True)
def restored_state(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    flash, fast = torch.backends.cuda.flash_sdp_enabled(), torch.backends.mha.get_fastpath_enabled()
    with torch.random.fork_rng(devices=[]):
        yield
    torch.backends.cuda.enable_flash_sdp(flash)
    torch.backends.mha.set_fastpath_enabled(fast)
    torch._dynamo.reset()


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: slug(entry.title))
def test_the_example_prints_what_the_page_says(entry):
    for requirement in entry.requirements:
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            pytest.skip(f"{requirement.name} is not installed")
        if not requirement.specifier.contains(version, prereleases=True):
            pytest.skip(f"holds for {requirement}, and {version} is installed")
    assert run(entry) == entry.printed


def test_each_entry_has_its_parts():
    found, text = entries(), PAGE.read_text()
    assert len(found) >= 40
    assert len({slug(entry.title) for entry in found}) == len(found)
    for entry in found:
        assert [part for part in PARTS if part not in " ".join(entry.text.split())] == [], entry.title
        assert f"](#{slug(entry.title)})" in text, entry.title


def test_lessons_link_entries_of_the_page():
    headings = set(re.findall(r"^#+ (.+)$", PAGE.read_text(), flags=re.MULTILINE))
    anchors = {slug(heading) for heading in headings}
    linking = set()
    for path in (PAGE.parents[1] / "source").glob("*/*.ipynb"):
        linked = set(re.findall(r"torch-attention\.md#([^)]+)\)", path.read_text()))
        assert linked <= anchors, path.stem
        linking |= {path.stem} if linked else set()
    assert linking >= {"mask", "multi_head", "efficient_reshape", "text_classifier", "kv_cache", "rotary"}
