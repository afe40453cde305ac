"""`ask`: a question whose answer a learner clicks or types, and the reply to it.

The key of the question is not in the notebook that learners have. The tutor replies; without one, the answer
is kept all the same. Answers are kept in a file beside the notebook, which is handed in with it.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython import get_ipython
from IPython.display import display

from nbjudge.tutor.learner import TutorMissingError, checking
from nbjudge.tutor.learner.result import frame, is_notebook, with_code

if TYPE_CHECKING:
    from nbjudge.quiz import Question

KEPT = "Your answer is kept. There is no tutor here to reply to it: the next cells tell, or your grade."
NOT_KEPT = "Your answer could not be saved in {folder} ({reason}): it is lost when the kernel ends."
BY_NBJUDGE = "This question is graded by nbjudge, which does not run its cell: see `nbjudge init`."
TYPE_IT = 'To answer: ask({name!r}, answer="…")'
STYLE = (
    "<style>.nbjudge-choices .jupyter-button, .nbjudge-choices .widget-label-basic {white-space: normal; "
    "height: auto; text-align: left; line-height: 1.4; padding: 0.3em 0.8em}</style>"
)
_asked = dict[str, "Asked | None"]()  # by name, as the notebook has asked them


def ask(
    name: str,
    *,
    several: bool = False,
    shuffle: bool = False,
    answer: str | None = None,
    right: Any = None,
    replies: Any = None,
    within: float = 0.0,
    exact: bool = False,
    **choices: str,
) -> Asked | None:
    """Ask a question, and show the reply to the answer that is clicked.

    Parameters
    ----------
    name
        The id of the question's cell for nbgrader.
    several
        Whether more than one choice may be right.
    shuffle
        Whether each learner sees the choices in another order; their letters stay.
    answer
        An answer that is typed instead of clicked: the letters of choices, a number or a word.
    right, replies, within, exact
        The key, in a region of hidden tests: see `docs/questions.md` of nbjudge.
    choices
        The choices, each under a letter; without any, a number or a word is the answer.

    Returns
    -------
    Asked or None
        What the notebook shows; None in the sandbox of the grader, which reads answers without running code.
    """
    try:
        from nbjudge.quiz import question_of
    except ImportError:
        return None
    if right is not None and os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise RuntimeError(BY_NBJUDGE)
    asked = _asked.get(name) if answer is not None and not choices else None
    if asked is None:
        given = {"several": several, "shuffle": shuffle, "right": right, "replies": replies or {}, **choices}
        given |= {"within": within, "exact": exact}
        asked = _asked[name] = Asked(question_of(name, given))
    if answer is not None:
        asked.give(answer)
    return asked


class Asked:
    """A question in a notebook, the answer that is kept, and the reply to it."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.choices = question.choices if question.right is not None else question.in_order(_learner())
        self.answer = question.read(_kept_answers().get(question.name))
        self.reply = ""

    def give(self, answer: str) -> None:
        """Keep an answer, and get the reply to it."""
        from nbjudge.tutor.messages import QuestionReply, QuestionRequest

        self.answer, name, folder = self.question.read(answer), self.question.name, Path.cwd()
        fault = self._keep() if self.answer else ""
        try:
            request = QuestionRequest(folder=folder.name, question=name, answer=self.answer)
            reply, _ = checking.converse(request)
            self.reply = getattr(reply, "sentence", "")
            if isinstance(reply, QuestionReply):
                sign = "✓" if reply.credit == 1 else "✗"
                self.reply = f"{sign} {self.reply}"
                checking.record.add_check(name, folder.name, self.answer, reply.credit, 1.0)
        except TutorMissingError:
            self.reply = KEPT
        self.reply = f"{fault} {self.reply}".strip()

    def _keep(self) -> str:
        """Write the answer beside the notebook; return a sentence if that fails."""
        from nbjudge.quiz import ANSWERS_FILE

        kept = {**_kept_answers(), self.question.name: self.answer}
        new = Path(f"{ANSWERS_FILE}.{os.getpid()}.new")
        try:
            new.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
            os.replace(new, ANSWERS_FILE)
        except OSError as error:
            return NOT_KEPT.format(folder=Path.cwd(), reason=error.strerror)
        return ""

    @property
    def _said(self) -> str:
        """The answer with its reply, as HTML."""
        if not self.answer:
            return f"<p>{with_code(self.reply)}</p>" if self.reply else ""
        shown = f"Your answer: <strong>{with_code(self.question.shown_answer(self.answer))}</strong>"
        return f"<p>{shown}</p><p>{with_code(self.reply)}</p>"

    def __repr__(self) -> str:
        question = self.question
        lines = [f"{letter} · {text}" for letter, text in self.choices.items()]
        lines += [f"Your answer: {question.shown_answer(self.answer)}"] if self.answer else []
        return "\n".join([*lines, *filter(None, [self.reply]), TYPE_IT.format(name=question.name)])

    def _repr_html_(self) -> str:
        return frame(self.question.as_html(_learner()) + self._said, "A question")

    def _ipython_display_(self) -> None:
        """Display what can be clicked; with its key, or where no one can click, the question as text."""
        can_click = is_notebook(get_ipython()) and checking.has_reader()
        if self.question.right is None and can_click and find_spec("ipywidgets") is not None:
            display(self._controls())
        else:
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)

    def _controls(self) -> Any:
        import ipywidgets as widgets

        from nbjudge.quiz import choice_as_html
        from nbjudge.tutor.learner.live_box import LiveBox

        said = widgets.HTML(frame(self._said, "The reply") if self.answer else "")

        def give(answer: str) -> None:
            self.give(answer)
            label = '<div role="status" aria-live="polite">{}</div>'
            said.value = label.format(frame(self._said, "The reply"))

        wide = {"width": "auto", "max_width": "100%"}
        boxes, choices = list[Any](), self.choices
        has_code = any("`" in text for text in choices.values())  # which no button can show

        def row(control: Any, text: str) -> Any:
            shown = widgets.HTML(choice_as_html(text), layout={"max_width": "100%"})
            return widgets.HBox([control, shown], layout={"align_items": "center"}) if has_code else control

        if choices and not self.question.several:
            for letter, text in choices.items():
                title = letter if has_code else text if self.question.shuffle else f"{letter} · {text}"
                button = widgets.Button(description=title, tooltip=text, layout=wide)
                button.on_click(lambda _, letter=letter: give(letter))
                boxes.append(row(button, text))
        else:
            ticks = {
                letter: widgets.Checkbox(
                    letter in self.answer, description=letter if has_code else text, indent=False, layout=wide
                )
                for letter, text in choices.items()
            }
            typed = widgets.Text("" if choices else self.answer, description="Answer")
            done = widgets.Button(description="Answer")
            done.on_click(
                lambda _: give(
                    "".join(each for each in ticks if ticks[each].value) if choices else typed.value
                )
            )
            rows = [row(tick, choices[letter]) for letter, tick in ticks.items()]
            boxes += [*(rows if choices else [typed]), done]
        column = widgets.VBox(boxes, layout={"align_items": "flex-start"})
        column.add_class("nbjudge-choices")
        stored = widgets.HTML(self._repr_html_())
        return LiveBox([widgets.HTML(STYLE, layout={"display": "none"}), column, said], [stored])


def _learner() -> str:
    """Return what tells learners apart: the account on a hub, or that of the computer and its name."""
    return os.environ.get("JUPYTERHUB_USER") or f"{os.path.expanduser('~')}@{platform.node()}"


def _kept_answers() -> dict[str, str]:
    from nbjudge.quiz import ANSWERS_FILE, read_answers

    content = None
    with suppress(OSError):
        content = Path(ANSWERS_FILE).read_bytes()
    return read_answers(content)
