"""Code, tests and documentation use plain English: the words below have a common replacement.

`WORDS` are searched in the whole text of a file, also in the parts of identifiers (`make_room`, `RoomPlan`).
`NAMES` are searched only as complete identifiers: `asked` says nothing as a variable, and is fine in a
sentence. Lessons (`source/`, `release/`, `solutions/`) have a style of their own, and changelogs are history.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
THIS_FILE = Path(__file__).resolve().relative_to(ROOT).as_posix()
# Texts that the course's models read are data.
TEXTS = (
    "attention_lab/corpus/words/",
    "attention_lab/encoder/experiments.py",
)
EXCLUDED = ("source/", "release/", "solutions/", *TEXTS, THIS_FILE)
EXCLUDED_NAMES = {"CHANGELOG.md", "LICENSE"}
SUFFIXES = {".py", ".md", ".toml", ".cfg", ".yml", ".txt", ".ipynb", ".template", ""}
SUFFIXES |= {".j2", ".html", ".css", ".js", ".R", ".cells", ".cff"}  # pages, and templates of lessons

# A regular expression and what to write instead.
WORDS = {
    r"who(m|so)?ever": "someone who, students who",
    r"nobody": "no student, no one",
    r"somebody": "someone, a person",
    r"anew": "again",
    r"mend(s|ed|ing)?": "fix",
    r"puts? right|putting right": "fix",
    r"shall": "must, will",
    r"oftener": "more often",
    r"seldom": "rarely",
    r"thrice": "three times",
    r"(ware)?rooms?": "package, capacity, state",
    r"keepers?": "supervisor",
    r"walls?": "sandbox, limit",
    r"doors?|desks?|roofs?": "the name of the thing itself",
    r"shut in": "sandboxed",
    r"stands?(?! for\b| in for\b|-in|-alone| alone| out\b)|stood": "is",
    r"lies": "is",
}
NAMES = {"said", "asked", "kept", "made", "mine", "theirs", "again", "most", "late", "beside"}

# Justified uses, as regular expressions of the text around a word. Keep this list short.
EXCEPTIONS = (
    r"wall[- ](clock|time)",  # the field's name for time that passes
    r"^wall = |'anew'",  # names of lesson 12 and lesson 4 in the texts for pictures
    r'title="the desk"',  # lesson 8's newsroom
)

_words = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(WORDS)})(?![A-Za-z])", re.IGNORECASE)
_exceptions = re.compile("|".join(EXCEPTIONS), re.IGNORECASE)
_word_in_camel_case = re.compile(r"(?<=[a-z])(?=[A-Z])")


def find_words(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the text of each word that has a plain replacement."""
    for number, line in enumerate(text.splitlines(), start=1):
        plain = _exceptions.sub("", _word_in_camel_case.sub(" ", line.replace("_", " ")))
        for match in _words.finditer(plain):
            yield number, match[0]


def find_names(code: str) -> Iterator[tuple[int, str]]:
    """Yield the line number and the name of each identifier that is a bare participle or adverb."""
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.NAME and token.string in NAMES:
            yield token.start[0], token.string


def findings() -> dict[str, list[str]]:
    """Return the findings of each folder at the top of the repository, as "path:line: word"."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, list[str]] = {}
    for name in filter(None, tracked.stdout.split("\0")):
        path = ROOT / name
        if name.startswith(EXCLUDED) or path.name in EXCLUDED_NAMES or path.suffix not in SUFFIXES:
            continue
        if not path.is_file() or path.is_symlink():
            continue
        text = path.read_text()
        hits = [*find_words(text), *(find_names(text) if path.suffix == ".py" else [])]
        folder = name.split("/")[0] if "/" in name else "."
        folder = "nbjudge/tests" if name.startswith("nbjudge/tests/") else folder
        found.setdefault(folder, []).extend(f"{name}:{line}: {word}" for line, word in sorted(hits))
    return found


@pytest.mark.parametrize("text", ["Whoever reads", "make_room", "RoomPlan", "it stands in", "is mended"])
def test_finds_a_word_in_a_sentence_and_in_an_identifier(text):
    assert list(find_words(text))


@pytest.mark.parametrize("text", ["amended", "stands for", "an understanding", "applies", "wall-clock time"])
def test_does_not_find_parts_of_other_words(text):
    assert not list(find_words(text))


def test_finds_a_participle_only_as_a_name():
    assert list(find_names("asked = 1\n"))
    assert not list(find_names("asked_twice = 1  # asked\n"))


def test_no_file_has_a_word_with_a_plain_replacement():
    """Rewrite the sentence; where the word is the only right one, add an exception with its reason."""
    assert [line for lines in findings().values() for line in lines] == []


def test_no_sentence_of_the_checks_has_lost_its_beginning():
    """A replacement in the source once left ". Hidden keys must weigh exactly 0" of an f-string."""
    for file in (ROOT / "checks").rglob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in parts]
        lost = [node.value for node in texts if isinstance(node.value, str) and node.value.startswith(". ")]
        assert not lost, f"{file}: {lost}"
