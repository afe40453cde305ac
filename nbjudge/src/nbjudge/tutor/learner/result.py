"""The results of `check`: HTML with buttons for a notebook, text for a terminal.

JupyterLab's own colours, so that it reads well in a dark theme; signs and words, never colour alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython import get_ipython
from IPython.display import display

from nbjudge.tutor.learner import TutorMissingError
from nbjudge.tutor.learner.record import LearnerRecord

if TYPE_CHECKING:
    from nbjudge.tutor.messages import AnyRequest, CheckResult, Part, Reply, Step

    Converse = Callable[[AnyRequest], tuple[Reply, list[str]]]

TEXT, PALE = "var(--jp-content-font-color1, inherit)", "var(--jp-content-font-color2, inherit)"
LINE = "var(--jp-border-color1, #888)"
# Dollars and backslashes of a learner's are no formulas.
FRAME = (
    '<section class="mathjax_ignore tex2jax_ignore" aria-label="{label}" '
    'style="border-left: 4px solid {line}; padding: 0.2em 0 0.2em 1em; color: {text}; line-height: 1.5; '
    'max-width: 60em">{content}</section>'
)
CODE = (
    '<pre style="padding: 0.6em; margin: 0.3em 0; overflow-x: auto; border: 1px solid {line}; '
    'color: inherit; background: var(--jp-layout-color2, transparent)">{code}</pre>'
)
BUTTONS = {"mistake": "Which mistake?", "help": "Help me", "solution": "A solution"}
WAITING = "One moment …"
NOTEBOOK = "ZMQInteractiveShell"  # the shell that has cells, and a page to show panels on
PICTURE, ATTRIBUTE = re.compile("<img [^>]*>"), re.compile('([a-z]+)="([^"]*)"')


def is_notebook(shell: object) -> bool:
    """Return whether the shell has cells and a page for panels: Jupyter's or Colab's, for example."""
    return any(kind.__name__ == NOTEBOOK for kind in type(shell).__mro__)


def frame(content: str, label: str) -> str:
    return FRAME.format(label=escape(label, quote=True), line=LINE, text=TEXT, content=content)


def with_code(sentence: str) -> str:
    """`names` as code, all else unchanged."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(sentence))


def _part_html(part: Part) -> str:
    title = f"<p><strong>{with_code(part.title)}</strong></p>" if part.title else ""
    if part.kind == "code":
        return title + CODE.format(line=LINE, code=escape(part.text))
    if part.kind == "markdown":
        return title + _markdown(part.text)
    return f"{title}<p>{with_code(part.text)}</p>"


def _markdown(text: str) -> str:
    """Return Markdown as HTML, made by JupyterLab's library, without pictures from elsewhere."""
    import mistune

    # With `escape`, only the library itself writes tags. Fetching a picture would tell its server who reads.
    return PICTURE.sub(_embedded_picture, str(mistune.create_markdown(escape=True)(text)))


def _embedded_picture(tag: re.Match[str]) -> str:
    """Return the tag of a picture that is part of the text; of another one its description."""
    values = dict(ATTRIBUTE.findall(tag[0]))
    return tag[0] if values.get("src", "").startswith("data:image/") else values.get("alt", "")


IN_A_TERMINAL = 'More: check("{exercise}").mistake(), .help(), .solution()'
NOT_YET = (
    "`{exercise}` is answered in words: write your own answer into its cell first and save the notebook "
    "(Ctrl-S). Then run this cell again for a model answer, and questions to ask your own text."
)
FEWEST_WORDS = 15


class Points(float):
    """A number of points that nbgrader reads as a cell's result."""

    def __repr__(self) -> str:
        return f"{float(self):g}"


class NoPointsError(Exception):
    """A graded cell asks for points where the tutor has not checked the answer; the message says why."""


class Sentence:
    """A sentence in place of a result: why the answer was not checked."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence

    @property
    def points(self) -> Points:
        """Raises NoPointsError, because 0 points would be a grade."""
        raise NoPointsError(self.sentence)

    def __repr__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return frame(f"<p>{with_code(self.sentence)}</p>", "The tutor")

    def mistake(self) -> Sentence:
        """Return the same sentence: there is no help without a check."""
        return self

    help = solution = mistake


class Help:
    """A step of help."""

    def __init__(self, parts: Sequence[Part], label: str) -> None:
        self.parts, self.label = parts, label

    def __repr__(self) -> str:
        return "\n\n".join("\n".join(filter(None, (part.title, part.text))) for part in self.parts)

    def _repr_html_(self) -> str:
        return frame("".join(map(_part_html, self.parts)), self.label)


class CheckPanel:
    """The result of a check, and its further help: the methods are the panel's buttons."""

    def __init__(
        self,
        result: CheckResult,
        notes: Sequence[str],
        record: LearnerRecord,
        folder: str,
        converse: Converse,
    ) -> None:
        self._result, self._notes = result, notes
        self._record, self._folder, self._converse = record, folder, converse
        self._given = 0

    @property
    def points(self) -> Points:
        """The points that the answer would get in a grading run."""
        return Points(self._result.points)

    @property
    def is_right(self) -> bool:
        """Return whether the answer would get all points."""
        return self._result.points == self._result.max_points

    @property
    def steps(self) -> list[str]:
        """The kinds of help that there are for this answer, given how much this course reveals."""
        named = any(finding.named for finding in self._result.findings)
        full = self._result.disclosure == "full"
        steps = ["mistake"] if named and full else []
        steps += [] if self.is_right else ["help"]
        return steps + (["solution"] if full else [])

    @property
    def more(self) -> str:
        """The methods that are the buttons."""
        return IN_A_TERMINAL.format(exercise=self._result.exercise)

    def mistake(self) -> Help | Sentence:
        """Return the sentence of the mistake, if the tutor knows it by name."""
        shown = self._ask("mistake")
        if isinstance(shown, Help):
            sentences = [part.text for part in shown.parts]
            names = [finding.mistake for finding in self._result.findings if finding.named]
            self._record.add_mistakes(self._result.exercise, dict(zip(names, sentences, strict=False)))
        return shown

    def help(self) -> Help | Sentence:
        """Return the smallest case in which the answer is wrong; the next calls return the hints."""
        shown = self._ask("help")
        self._given += 1
        self._record.add_help(self._result.exercise)
        return shown

    def solution(self) -> Help | Sentence:
        """Return the model solution and two alternatives, once you are right or have tried three times."""
        return self._ask("solution")

    def __repr__(self) -> str:
        lines = [f"{self._result.exercise}: {self._score}"]
        for finding in self._result.findings:
            lines += ["", finding.sentence, *filter(None, [finding.evidence])]
        groups = [f"  {sign} {name}{note}" for sign, name, note in self._groups()]
        return "\n".join([*lines, *(["", *groups] if groups else []), *self._notes, self.more])

    def _repr_html_(self) -> str:
        exercise, content = self._result.exercise, ""
        for finding in self._result.findings:
            evidence = f"<br><small>{with_code(finding.evidence)}</small>" if finding.evidence else ""
            content += f"<p>✗ {with_code(finding.sentence)}{evidence}</p>"
        rows = ""
        for sign, name, note in self._groups():
            differs = f'<strong>{escape(name)}</strong><span style="color: {PALE}">{escape(note)}</span>'
            rows += f"<li>{sign} {differs if note else escape(name)}</li>"
        if rows:
            content += f'<ul style="list-style: none; padding-left: 0; margin: 0.3em 0">{rows}</ul>'
        content += "".join(f"<p>{escape(note)}</p>" for note in self._notes)
        title = f"<p><strong><code>{escape(exercise)}</code></strong>: {escape(self._score)}</p>"
        return frame(title + content, exercise)

    def _ipython_display_(self) -> None:
        """Display the panel; where the frontend is a notebook, with a button for each kind of help."""
        display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        if is_notebook(get_ipython()) and self.steps:
            if find_spec("ipywidgets") is None:  # it comes with nbjudge[learner]
                print(self.more)
            else:
                display(self._buttons())

    def _buttons(self) -> Any:
        import ipywidgets as widgets

        from nbjudge.tutor.learner.live_box import LiveBox

        # They are read aloud when they change.
        shown = {step: widgets.HTML() for step in self.steps}
        status = widgets.HTML()

        def press(step: str) -> None:
            status.value = f'<span role="status" aria-live="polite">{WAITING}</span>'
            try:
                content = getattr(self, step)()._repr_html_()
            except KeyboardInterrupt:
                content = "<p>Stopped.</p>"
            # Hints add up, the other steps say the same again.
            before = shown[step].value if step == "help" else ""
            shown[step].value = f'{before}<div role="status" aria-live="polite">{content}</div>'
            status.value = ""

        buttons = []
        for step in shown:
            button = widgets.Button(description=BUTTONS[step], layout={"width": "auto"})
            button.on_click(lambda _, step=step: press(step))
            buttons.append(button)
        return LiveBox([widgets.HBox([*buttons, status]), *shown.values()])

    @property
    def _all_agree(self) -> bool:
        result = self._result
        return not result.stopped and not result.findings and all(group.is_earned for group in result.groups)

    @property
    def _score(self) -> str:
        count = len(self._result.groups)
        if self._result.stopped:
            return "no result to compare yet"
        if self._all_agree:
            return f"✓ right in all {count} groups of cases" if count > 1 else "✓ right"
        return f"{sum(group.is_earned for group in self._result.groups)} of {count} groups of cases agree"

    def _groups(self) -> list[tuple[str, str, str]]:
        """Sign, name and note of each group; none of a right answer: a list of ticks says nothing new."""
        if self._result.stopped or self._all_agree:
            return []
        return [
            ("✓", group.name, "") if group.is_earned else ("✗", group.name, f" · {group.note or 'differs'}")
            for group in self._result.groups
        ]

    def _ask(self, step: Step) -> Help | Sentence:
        from nbjudge.tutor.messages import HelpRequest

        exercise = self._result.exercise
        tries = self._record.exercise(exercise).tries
        request = HelpRequest(
            folder=self._folder, exercise=exercise, step=step, given=self._given, tries=tries
        )
        return ask_for_help(self._converse, request, f"{exercise}: {BUTTONS[step]}")


def ask_for_help(converse: Converse, request: AnyRequest, label: str) -> Help | Sentence:
    """Return the parts of help that the tutor replies with, or the sentence that says why there are none."""
    try:
        reply, _ = converse(request)
    except TutorMissingError as error:
        return Sentence(str(error))
    parts = getattr(reply, "parts", None)
    return Sentence(getattr(reply, "sentence", "")) if parts is None else Help(parts, label)


class WrittenAnswer:
    """A question that is answered in words: shows its model answer once the learner has written one."""

    def __init__(self, exercise: str, folder: Path, converse: Converse) -> None:
        self._exercise, self._folder, self._converse = exercise, folder, converse

    def __repr__(self) -> str:
        return repr(self._shown())

    def _repr_html_(self) -> str:
        return self._shown()._repr_html_()

    def _shown(self) -> Help | Sentence:
        from nbjudge.tutor.messages import HelpRequest

        if not has_written(self._folder, self._exercise):
            return Sentence(NOT_YET.format(exercise=self._exercise))
        request = HelpRequest(
            folder=self._folder.name, exercise=self._exercise, step="solution", given=0, tries=0
        )
        return ask_for_help(self._converse, request, self._exercise)


class OnePage:
    """The code of a whole assignment, which the notebook shows in colour."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __repr__(self) -> str:
        return self.code

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.code}\n```"


def one_page(folder: str, record: LearnerRecord, converse: Converse) -> OnePage | Sentence:
    """Return the code of an assignment on one page, or the sentence that lists the answers still missing."""
    right = [
        name
        for name, exercise_history in record.exercises().items()
        if exercise_history.lesson == folder and exercise_history.is_right
    ]
    from nbjudge.tutor.messages import OnePageRequest

    shown = ask_for_help(converse, OnePageRequest(folder=folder, right=right), folder)
    if not isinstance(shown, Help):
        return shown
    (part,) = shown.parts
    return OnePage(part.text) if part.kind == "code" else Sentence(part.text)


def has_written(folder: Path, question: str) -> bool:
    """Return whether the notebook saved in this folder holds an answer to a written question."""
    return any(
        len("".join(cell.get("source", "")).split()) >= FEWEST_WORDS
        for path in sorted(folder.glob("*.ipynb"))
        for cell in _cells(path)
        if cell.get("metadata", {}).get("nbgrader", {}).get("grade_id") == question
    )


def _cells(path: Path) -> list[dict[str, Any]]:
    try:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        return [cell for cell in cells if isinstance(cell, dict)]
    except (OSError, ValueError, KeyError, TypeError):
        return []
