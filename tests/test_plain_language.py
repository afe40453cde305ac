"""Code, tests and documentation use plain English: the words below have a common replacement.

Lessons have a style of their own, texts that the course's models read are data, and changelogs are history.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXCLUDED = re.compile(
    r"(source|release|solutions)/|.*CHANGELOG\.md|.*LICENSE|attention_lab/(corpus/words|encoder/experiments)|"
    + re.escape(Path(__file__).resolve().relative_to(ROOT).as_posix())
)
TEXTS = re.compile(r".*\.(py|md|toml|cfg|yml|txt|template|j2|html|css|js|R|cells|cff)|[^.]+")
# A regular expression and what to write instead. Words in parts of identifiers count, too: `make_room`.
WORDS = {
    r"who(m|so)?ever": "someone who, students who",
    r"nobody": "no student, no one",
    r"somebody": "someone, a person",
    r"anew": "again",
    r"mend(s|ed|ing)?|puts? right|putting right": "fix",
    r"shall": "must, will",
    r"oftener": "more often",
    r"seldom": "rarely",
    r"thrice": "three times",
    r"(ware)?rooms?|keepers?|walls?|doors?|desks?|roofs?": "the name of the thing itself",
    r"shut in": "sandboxed",
    r"stands?(?! for\b| in for\b|-in|-alone| alone| out\b)|stood|lies": "is",
}
# The field's name for time that passes; names of lessons 12, 4 and 8 in pictures.
EXCEPTIONS = re.compile(r"wall[- ](clock|time)|^wall = |'anew'|title=\"the desk\"", re.IGNORECASE)
FOUND = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(WORDS)})(?![A-Za-z])", re.IGNORECASE)
# nbjudge is for any course: what only this one is about is not named there.
THE_COURSES = re.compile(
    r"attention|softmax|\bheads?\b|\bmask(s|ed)?\b|\bqueries\b|\bmake (build|demo)\b", re.I
)


def findings(name):
    """Yield "file:line: word" for each word that has a plain replacement."""
    for number, line in enumerate((ROOT / name).read_text().splitlines(), start=1):
        plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", EXCEPTIONS.sub("", line.replace("_", " ")))
        found = [*FOUND.finditer(plain)]
        if name.startswith("nbjudge/src") and name.endswith(".py"):
            found += THE_COURSES.finditer(line)
        yield from (f"{name}:{number}: {word[0]}" for word in found)


def test_no_file_has_a_word_with_a_plain_replacement():
    """Rewrite the sentence; where the word is the only right one, add an exception with its reason."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [name for name in listed.split("\n") if TEXTS.fullmatch(name) and (ROOT / name).is_file()]
    assert [found for name in files if not EXCLUDED.match(name) for found in findings(name)] == []
