"""Three questions of earlier lessons, with which a lesson begins: folded answers, and buttons for ratings."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from IPython.display import display

from attention_lab.errors import CourseError
from attention_lab.start.practice.cards import PracticeCard, as_plain, without_tex
from attention_lab.start.practice.due import QUESTIONS, RATINGS, Practice, cards_before, work_folder
from nbjudge.tutor import has_reader, with_code

if TYPE_CHECKING:
    from nbjudge.tutor import LiveBox

TITLE = "From earlier lessons: answer from memory, then open."
RATED = "Rated: {words}. This decides when it comes again."


class EarlierQuestions:
    """Cards of lessons before one, chosen by the learner's record if the notebook is in a work folder.

    Raises CourseError if there is no such lesson.
    """

    def __init__(self, lesson: int) -> None:
        self.cards, self._practice = cards_before(lesson)[:QUESTIONS], None
        work = work_folder(Path.cwd())
        if has_reader() and work is not None:
            with suppress(CourseError):  # the package fsrs is missing
                self._practice = Practice(work, date.today())
                self.cards = self._practice.questions_before(lesson)

    def __repr__(self) -> str:
        return "\n".join([TITLE, *(f"- {as_plain(card.question)}" for card in self.cards)])

    def _repr_html_(self) -> str:
        return f"<p>{TITLE}</p>{''.join(map(_folded, self.cards))}"

    def _ipython_display_(self) -> None:
        """Display buttons for ratings where someone can press them and a work folder keeps them."""
        if self._practice is None:
            display({"text/html": self._repr_html_(), "text/plain": repr(self)}, raw=True)
        else:
            display(self._controls(self._practice))

    def _controls(self, practice: Practice) -> LiveBox:
        import ipywidgets as widgets

        from nbjudge.tutor import LiveBox

        def row(card: PracticeCard) -> widgets.VBox:
            said, buttons = widgets.HTML(), []

            def rate(rating: int) -> None:
                try:
                    practice.rate(card, rating)
                    sentence = RATED.format(words=RATINGS[rating])
                except CourseError as error:
                    sentence = str(error)
                said.value = f'<span role="status" aria-live="polite">{with_code(sentence)}</span>'

            for rating, words in RATINGS.items():
                buttons.append(widgets.Button(description=words, layout={"width": "auto"}))
                buttons[-1].on_click(lambda _, rating=rating: rate(rating))
            return widgets.VBox([widgets.HTML(_folded(card)), widgets.HBox([*buttons, said])])

        rows = map(row, self.cards)
        return LiveBox([widgets.HTML(f"<p>{TITLE}</p>"), *rows], [widgets.HTML(self._repr_html_())])


def _folded(card: PracticeCard) -> str:
    question, answer = (with_code(without_tex(text)) for text in (card.question, card.answer))
    lesson = f"<small>(lesson {card.number})</small>"
    return f"<details><summary>{question}</summary><p>{answer} {lesson}</p></details>"
