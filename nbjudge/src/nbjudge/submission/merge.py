"""Merge a submission into the source notebook: the result is the notebook that is graded.

Locked and graded cells come from the source, so deleting, copying, moving or editing them changes
nothing. The student's answers replace the source's answer cells. Each other code cell of the student
runs after the same neighbour as before, without tags and metadata. It is never graded, so that
helper functions cost no point.

A student's prose shows, and does nothing. The formgrader's page, JupyterLab and the feedback page read
markdown in ways of their own, so an invisible space is put where any of them would see markup. A formula may
use the commands of `formula_commands.toml`; an invisible space follows the backslash of every other command,
so that no reader takes it for a command. Pictures are attachments of the cell.
"""

from __future__ import annotations

import copy
import re
import tomllib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

import nbformat
from nbformat import NotebookNode

from nbjudge.cell_metadata import (
    Origin,
    added_cell_id,
    checked_exercise,
    is_left_out,
    is_released_text,
    is_written_by_student,
    mark_origin,
    nbgrader_metadata,
    record_remarks,
)
from nbjudge.plain_text import shown_name
from nbjudge.quiz import read_question
from nbjudge.submission.read_submission import (
    DATA,
    PICTURE,
    Picture,
    PictureSpace,
    SubmittedCell,
    address_of,
    defined_names,
)

# Characters of code that are shown in colours; a solved assignment has 50,000, in lines of a hundred.
MOST_CODE = 200_000
LONGEST_CODE_LINE = 1_000
# Characters between opening brackets and the next closing ones; a solved assignment has 1,000.
MOST_SEARCHED = 500_000
BRACKET = re.compile(r"[\[\]]")
UNCOLOURED = {"name": "python", "pygments_lexer": "text"}
MISSING_ANSWER = "# This answer cell was not in the submission."
WRITTEN_BELOW = "The written answer {} was found below its cell, which was as given out."
QUESTION_IS_OURS = (
    "The cell of the question {} was {}: it was graded as given out, with the answer that was kept."
)
_Chain = tuple[int, int, "_Chain | None"]  # an index, its position, and the chain that leads there


@dataclass(frozen=True, eq=False)
class _Match:
    """A submitted cell, and the position of the assignment's cell that it is, if it is one."""

    cell: SubmittedCell
    position: int | None
    is_in_order: bool  # neither moved nor copied
    is_repeated: bool  # another submitted cell is that cell of the assignment


def merge_submission(source: NotebookNode, submitted: Iterable[SubmittedCell]) -> NotebookNode:
    """Put a submission's cells into the source's template (see `assignment_forms.grading_template`).

    Cells are matched by the mark of the grader, by id, or by text and order: many courses have no ids.
    """
    matches = _match(source, list(submitted))
    answers = _choose_answers(source, matches)
    own = _own_cells(source, matches, {match for chosen in answers.values() for match in chosen})
    merged = copy.deepcopy(source)
    remarks, space = [], PictureSpace()
    merged.cells = _added_cells(own[-1], "start", space)
    for position, cell in enumerate(copy.deepcopy(source.cells)):
        mark_origin(cell, Origin.COURSE)
        if position in answers:
            chosen = [match.cell for match in answers[position]]
            if cell.cell_type == "code":
                cell.source = chosen[0].source if chosen else MISSING_ANSWER
            elif not chosen or any(each.source.strip() != cell.source.strip() for each in chosen):
                _write_prose(cell, chosen, space)
            if cell.cell_type != "code" and any(match.position is None for match in answers[position]):
                remarks.append(WRITTEN_BELOW.format(shown_name(_grade_id(cell))))
        if checked_exercise(cell) and read_question(cell.source) is not None:
            # One of several copies is enough; an empty text is a deleted cell's.
            texts = [match.cell.source for match in matches if match.position == position]
            if not any(text.strip() == cell.source.strip() for text in texts):
                state = "changed" if any(texts) else "missing"
                remarks.append(QUESTION_IS_OURS.format(shown_name(_grade_id(cell)), state))
        merged.cells += [cell, *_added_cells(own[position], position, space)]
    remarks += space.remarks
    prose = [cell for cell in merged.cells if cell.cell_type != "code" and is_written_by_student(cell)]
    for cell, text in zip(prose, shortened_prose([cell.source for cell in prose]), strict=True):
        cell.source = text
    if _takes_long_to_colour(merged):
        merged.metadata["language_info"] = nbformat.from_dict(UNCOLOURED)
    if remarks:
        record_remarks(merged, remarks)
    if not has_cell_ids(source):
        for cell in merged.cells:
            cell.pop("id", None)
    return merged


def has_cell_ids(notebook: NotebookNode) -> bool:
    """Return whether the format of a notebook knows cell ids; an older format is invalid with them."""
    return (int(notebook.nbformat), int(notebook.nbformat_minor)) >= (4, 5)


def _match(source: NotebookNode, cells: list[SubmittedCell]) -> list[_Match]:
    """Find for each submitted cell the assignment's cell that it is.

    By nbgrader's mark, then by cell id, then by its very text: whichever survived. Several of the
    assignment's cells may have one text, so their order decides.
    """
    by_mark = {
        marks["grade_id"]: at
        for at, cell in enumerate(source.cells)
        if "grade_id" in (marks := nbgrader_metadata(cell))
    }
    by_id = {cell["id"]: at for at, cell in enumerate(source.cells) if "id" in cell}
    by_text: dict[str, list[int]] = defaultdict(list)
    for at, cell in enumerate(source.cells):
        by_text[cell.source.strip()].append(at)
    candidates: list[list[int]] = []
    for submitted in cells:
        position = by_mark.get(submitted.grade_id or "", by_id.get(submitted.cell_id or ""))
        text = submitted.source.strip()
        candidates.append([position] if position is not None else by_text.get(text, []) if text else [])
    in_order = _longest_in_order(candidates)
    taken = set(in_order.values())
    matches = []
    for index, (cell, positions) in enumerate(zip(cells, candidates, strict=True)):
        free = [position for position in positions if position not in taken] or positions
        chosen = in_order.get(index, free[0] if free else None)
        is_in_order = index in in_order
        matches.append(_Match(cell, chosen, is_in_order, chosen in taken and not is_in_order))
        if chosen is not None:
            taken.add(chosen)
    return matches


def _longest_in_order(candidates: list[list[int]]) -> dict[int, int]:
    """The longest choice of candidates that ascends, as position by index (Hunt and Szymanski)."""
    lasts: list[int] = []  # the lowest position that ends a choice of each length
    chains: list[_Chain] = []
    for index, positions in enumerate(candidates):
        for position in reversed(positions):
            length = bisect_left(lasts, position)
            if length < len(lasts) and lasts[length] == position:
                continue  # of copies the first stays
            chain = (index, position, chains[length - 1] if length else None)
            lasts[length : length + 1], chains[length : length + 1] = [position], [chain]
    chosen: dict[int, int] = {}
    last = chains[-1] if chains else None
    while last is not None:
        index, position, last = last
        chosen[index] = position
    return chosen


def _choose_answers(source: NotebookNode, matches: list[_Match]) -> dict[int, list[_Match]]:
    """Choose the submitted cells that answer each of the assignment's answer cells, by its position.

    Of several copies of code the last that is not the stub counts, as it would in a kernel that ran them
    all; of prose all count, because an editor that splits a cell makes copies of its metadata. Where none is
    written, another code cell of the student's that defines the name stands for it, such as a test cell; for
    prose, the own cells of prose that follow before the assignment's next cell.
    """
    copies: dict[int, list[_Match]] = {at: [] for at, cell in enumerate(source.cells) if _is_answer(cell)}
    others = []
    for match in matches:
        if match.position in copies:
            copies[match.position].append(match)
        elif match.cell.cell_type == "code":
            others.append(match)
    answers = {}
    for position, copied in copies.items():
        answer = source.cells[position]
        written = [
            match for match in copied if match.cell.source.strip() and not _is_as_released(match.cell, answer)
        ]
        if answer.cell_type == "code":
            name = _grade_id(answer)
            naming = (match for match in others if name in match.cell.source)  # quick to find
            elsewhere = [match for match in naming if name in defined_names(match.cell.source)]
        else:
            elsewhere = _prose_below(matches, copied)
        chosen = written or elsewhere or copied
        answers[position] = chosen[-1:] if answer.cell_type == "code" else chosen
    return answers


def _prose_below(matches: list[_Match], copied: list[_Match]) -> list[_Match]:
    """The student's own cells of prose between the last copy of a cell and the assignment's next cell."""
    behind = matches[matches.index(copied[-1]) + 1 :] if copied else []
    own = takewhile(lambda match: match.position is None, behind)
    return [match for match in own if match.cell.cell_type != "code" and match.cell.source.strip()]


def _own_cells(
    source: NotebookNode, matches: list[_Match], answers: set[_Match]
) -> dict[int, list[SubmittedCell]]:
    """The student's own cells by the position they follow; -1 is the start of the notebook.

    A cell of the assignment's that was moved or copied says nothing about the place of those behind it.
    """
    own: dict[int, list[SubmittedCell]] = defaultdict(list)
    after = in_order = -1
    for match in matches:
        cell, position = match.cell, match.position
        if position is not None and (match.is_in_order or match in answers):
            after = position
            in_order = position if match.is_in_order else in_order
        if match in answers or not cell.source.strip():
            continue
        before = after
        if position is not None:
            released = source.cells[position]
            if cell.cell_type != "code" or is_left_out(released):
                continue
            if match.is_repeated and not (_is_answer(released) or nbgrader_metadata(released).get("grade")):
                # A given cell that the student runs again, to have its data back. Behind a copy of an answer
                # it stays where it is: it may be of a later part of the notebook.
                before = in_order
            elif _is_as_released(cell, released):
                continue
            elif _is_answer(released):
                # An older copy of an answer runs before the one that counts, so that it does not undo it.
                before = position - 1
            # A released cell that was edited still runs, after the original: it may hold a helper.
        own[before].append(cell)
    return own


def _takes_long_to_colour(notebook: NotebookNode) -> bool:
    """Return whether Pygments would keep the formgrader and the feedback page waiting for minutes."""
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    lines = (line for source in code for line in source.splitlines())
    return (
        sum(map(len, code)) > MOST_CODE
        or any(len(line) > LONGEST_CODE_LINE for line in lines)
        or sum(map(_searched, code)) > MOST_SEARCHED
    )


def _searched(source: str) -> int:
    """Return how far Pygments reads, if from each opening bracket of a text it looks for a closing one."""
    end, searched = len(source), 0
    for found in reversed(list(BRACKET.finditer(source))):
        if found[0] == "]":
            end = found.start()
        else:
            searched += end - found.start()
    return searched


def _added_cells(cells: Iterable[SubmittedCell], after: int | str, space: PictureSpace) -> list[NotebookNode]:
    """The student's own cells after a position, without tags and metadata."""
    added = []
    for number, cell in enumerate(cells, 1):
        new_cell = getattr(nbformat.v4, f"new_{cell.cell_type}_cell")
        added.append(new_cell(cell.source, id=added_cell_id(after, number)))
        mark_origin(added[-1], Origin.STUDENT)
        if cell.cell_type != "code":
            _write_prose(added[-1], [cell], space)
    return added


def _write_prose(cell: NotebookNode, parts: Iterable[SubmittedCell], space: PictureSpace) -> None:
    """Let a cell have the text and the pictures of a student's cells."""
    texts: list[str] = []
    attachments: dict[str, dict[str, str]] = {}
    for part in parts:
        pictures = space.admitted(part.pictures) if cell.cell_type == "markdown" else {}
        texts.append(neutralize_markup(part.source, pictures))
        attachments |= {picture.name: picture.as_attachment() for picture in pictures.values()}
    cell.source = "\n\n".join(dict.fromkeys(texts))
    if attachments:
        cell.attachments = nbformat.from_dict(attachments)


def _is_as_released(cell: SubmittedCell, own: NotebookNode) -> bool:
    """Return whether a submitted cell is the assignment's own, as students have it: without hidden tests."""
    return cell.source.strip() == own.source.strip() or is_released_text(own, cell.source)


def _is_answer(cell: NotebookNode) -> bool:
    return bool(nbgrader_metadata(cell).get("solution"))


def _grade_id(cell: NotebookNode) -> str:
    return str(cell.metadata.nbgrader["grade_id"])


INVISIBLE_SPACE = "\u200b"
# Characters that are no text: readers of HTML and of addresses drop some of them without a trace.
NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
NO_WORDS = re.compile(r"[^\w .,-]")
MARKUP = re.compile(
    r"<(?=[A-Za-z/!?])"  # a tag, an address between angle brackets
    r"|&(?=#?\w+;)"  # an entity
    r"|!(?=\[)"  # a picture, which is fetched without being asked for
    r"|\](?=\((?!(?:https?://|mailto:)))"  # a link to anywhere but the web
    r"|\](?=:(?![ \t]*(?:https?://|mailto:)))"  # the same, defined elsewhere
    r"|(?<![^\s>])#{1,6}[ \t]*(?=[^#\s])"  # a heading, whose words become the name of a place in the page
    r"|(?<=\S)(?=\n[ \t>]*(?:=+|-+)[ \t]*$)"  # the same, underlined
    r"|(?:`{3}|~{3})[ \t]*(?=mermaid)",  # a diagram, which a script draws
    re.MULTILINE,
)
_FORMULAS = tomllib.loads(Path(__file__).with_name("formula_commands.toml").read_text("utf-8"))
COMMANDS = frozenset(" ".join(_FORMULAS["commands"].values()).split())
ENVIRONMENTS = frozenset(_FORMULAS["environments"].split())
# A command of TeX; or a line break with a length, which may be as small as a line.
COMMAND = re.compile(
    r"\\(?=(?P<name>[A-Za-z]+)(?P<after>\s*(?:\{[^{}\n]{0,40}\})?(?:\{[^{}\n]{0,40}\})?))"
    r"|\\(?=(?P<back>!))"
    r"|\\\\\*?(?=\s*\[[\s{]*(?P<length>[-+]?[\d.,]+\s*[a-z]{2})[\s}]*\])"
)
SMALL_LENGTH = re.compile(r"1?\d(?:\.\d+)?(?:pt|px|mu)|[01]?(?:\.\d+)?(?:em|ex)|\d(?:\.\d+)?mm")
# What must follow some commands.
ARGUMENTS = {
    "begin": re.compile(
        rf"\{{(?!array)(?:{'|'.join(map(re.escape, sorted(ENVIRONMENTS)))})\}}(?:\{{.*)?"
        r"|\{array\}\{[clr|: ]{1,40}\}"
    ),
    "tag": re.compile(r"\{[\w .,'()*-]{1,20}\}.*"),
    **dict.fromkeys(("label", "ref", "eqref"), re.compile(r"\{[\w:. -]{1,40}\}.*")),
}
# Each steps back by up to a third of a letter: a few bring letters closer, many lead out of the formula.
BACKWARDS = frozenset({"!", "negthinspace", "negmedspace", "negthickspace"})
MOST_BACKWARDS = 20
# From each of these a reader of markdown or TeX searches to the end of the text, or goes one level deeper.
OPENING = re.compile(r"\\(?:begin|left)(?![A-Za-z])|\\\\[\[(]")
MOST_OPENINGS = 200
DEEPEST = 30  # braces within each other
# Characters of one cell, and of a notebook: readers of markdown are slow on text that is made for it.
LONGEST_PROSE = 20_000
LONGEST_BLANK = 100  # a reader that looks for a line break behind spaces begins again at each of them
LONG_BLANK = re.compile(rf"[ \t]{{{LONGEST_BLANK},}}")
LONGEST_LINE = 500  # of code: from each bracket, nbconvert looks for a link to the end of the line
LONG_LINE = re.compile(rf".{{{LONGEST_LINE}}}(?=.)")
MOST_PROSE = 100_000


def shortened_prose(texts: Iterable[str]) -> Iterator[str]:
    """A notebook's prose, cell by cell; what is long or deep becomes code."""
    read = 0
    for text in texts:
        read += len(text)
        yield (
            text if len(text) <= LONGEST_PROSE and read <= MOST_PROSE and _is_simple(text) else _as_code(text)
        )


def neutralize_markup(text: str, pictures: Mapping[str, Picture] = MappingProxyType({})) -> str:
    """The text with nothing in it that is more than text, but emphasis, lists, formulas and web links.

    Pictures, by their address in the text, are attachments in paragraphs of their own.
    """
    parts, end = [], 0
    for found in PICTURE.finditer(text) if pictures else ():
        if (picture := pictures.get(address_of(found))) is not None:
            words = NO_WORDS.sub(" ", found["alt"] or "")
            parts += [_as_text(text[end : found.start()]), f"\n\n![{words}](attachment:{picture.name})\n\n"]
            end = found.end()
    return "".join([*parts, _as_text(text[end:])])


def _as_text(text: str) -> str:
    text = DATA.sub(lambda data: f"{data[0].partition(',')[0]},…", text)
    text = LONG_BLANK.sub(lambda blank: blank[0][:LONGEST_BLANK], NO_TEXT.sub("", text))
    return _without_commands(MARKUP.sub(rf"\g<0>{INVISIBLE_SPACE}", text))


def _without_commands(text: str) -> str:
    """The text with a space within each command of TeX that no formula may use."""
    backwards = 0

    def checked(found: re.Match[str]) -> str:
        nonlocal backwards
        name = found["name"] or found["back"]
        backwards += name in BACKWARDS
        if found["length"] is not None:
            is_allowed = SMALL_LENGTH.fullmatch(found["length"]) is not None
        elif name in BACKWARDS:
            is_allowed = backwards <= MOST_BACKWARDS
        else:
            is_allowed = name in COMMANDS and (
                name not in ARGUMENTS or ARGUMENTS[name].fullmatch(found["after"].strip()) is not None
            )
        return found[0] if is_allowed else found[0] + INVISIBLE_SPACE

    return COMMAND.sub(checked, text)


def _is_simple(text: str) -> bool:
    """Return whether little in it is nested, or opens something that a reader looks for the end of."""
    depth = deepest = 0
    for brace in re.findall(r"[{}]", text):
        depth = max(0, depth + (1 if brace == "{" else -1))
        deepest = max(deepest, depth)
    return deepest <= DEEPEST and len(OPENING.findall(text)) <= MOST_OPENINGS


def _as_code(text: str) -> str:
    """The text within a fence that nothing in it ends, its long lines broken."""
    fence = "~" * (max((len(run) for run in re.findall("~+", text)), default=2) + 1)
    lines = LONG_LINE.sub("\\g<0>\n", text)
    return f"{fence}\n{lines}\n{fence}"
