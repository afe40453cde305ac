"""What a learner practises today: exercises with an empty cell, bug hunts, and cards.

An exercise is planned by FSRS once it is right in its lesson, a hunt once it was begun, and a card once its
lesson was. FSRS counts whole days between two moments: 22:00 and 8:00 two mornings later are one day apart.
So a review is a day of the learner's calendar here, given as midnight in UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from attention_lab.errors import CourseError
from attention_lab.start.practice.cards import PracticeCard, read_cards
from attention_lab.start.progress import read_lessons
from attention_lab.tutor import FIRST_LESSON, PRACTICE, RECORD
from nbjudge.tutor import LearnerRecord

if TYPE_CHECKING:
    from fsrs import Card

CARDS = RECORD.with_name("cards.json")  # in the work folder: the ratings of cards
MOST_EXERCISES, MOST_HUNTS, MOST_NEW_CARDS = 4, 2, 10  # a day
QUESTIONS = 3  # before a lesson
RATINGS = {1: "forgotten", 2: "with effort", 3: "remembered", 4: "at once"}  # as FSRS counts them
NO_FSRS = "The package fsrs is missing, which plans what is due: `pip install fsrs` in the course's Python."
NO_LESSON = "There are no questions before lesson {number}: choose a later lesson, such as 2."
DAMAGED = "{file} holds no results that can be read: it is now called {new}, and a new one begins."
NOT_KEPT = "The rating cannot be written to {file}: free some space, or choose a folder that is yours."
UNKNOWN = "{file} has ratings of cards that this version does not have ({cards}): they are kept."


def work_folder(folder: Path) -> Path | None:
    """Return the work folder that a folder is, or is in; None if it is in none."""
    return next((each for each in (folder, *folder.parents) if (each / FIRST_LESSON).is_dir()), None)


def cards_before(number: int) -> list[PracticeCard]:
    """Return all cards of lessons before this one, shuffled; always in the same order.

    Raises CourseError if there is no such lesson.
    """
    if number < 2:
        raise CourseError(NO_LESSON.format(number=number))
    cards = [card for card in read_cards().values() if card.number < number]
    Random(number).shuffle(cards)
    return cards


class Practice:
    """The practice of one day in a work folder.

    What is due is in order: the most forgotten first. Of many exercises and hunts some are chosen, and once
    the day's notebook is written, those in it that are still due. `notes` are sentences about files.

    Raises
    ------
    CourseError
        If the package fsrs is missing.
    """

    def __init__(self, folder: Path, today: date) -> None:
        try:
            from fsrs import Scheduler
        except ModuleNotFoundError:
            raise CourseError(NO_FSRS) from None
        # Without steps of minutes an interval is a day or more; without fuzz it is always the same.
        self._scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
        self.folder, self.today = folder, today
        # Each day has a folder, by which the tutor knows the day.
        self.notebook = folder / PRACTICE / str(today) / "practice.ipynb"
        record, self.card_record = LearnerRecord(folder / RECORD), LearnerRecord(folder / CARDS)
        known, rated, cards = record.exercises(), self.card_record.exercises(), read_cards()
        coded = {name for lesson in read_lessons(folder) for name in lesson.exercises_in_code}
        histories = {name: history for name, history in known.items() if name in coded}
        right = {name: history.reviews for name, history in histories.items() if history.is_right}
        exercises = self._plans(right)
        hunts = self._plans({name: history.hunted for name, history in histories.items()})
        self._cards = self._plans({name: rated[name].reviews for name in rated if name in cards})

        self.exercises = self._chosen("check", exercises, MOST_EXERCISES)
        self.hunts = self._chosen("hunt", hunts, MOST_HUNTS)
        begun = {history.lesson for history in known.values()}
        new = [card for card in cards.values() if card.lesson in begun and card.id not in self._cards]
        asked = sum(min(each.reviews, default="") == str(today) for each in rated.values())
        self.cards = [cards[name] for name in self._due(self._cards)] + new[: max(0, MOST_NEW_CARDS - asked)]
        days = [plan.due.date() for plans in (exercises, hunts, self._cards) for plan in plans.values()]
        later = [day for day in [*days, *[today + timedelta(days=1)] * bool(new)] if day > today]
        self.next_day = min(later, default=None)
        damaged = {CARDS: self.card_record.damaged, RECORD: record.damaged}
        self.notes = [DAMAGED.format(file=file, new=new.name) for file, new in damaged.items() if new]
        if unknown := [name for name in rated if name not in cards]:
            self.notes.append(UNKNOWN.format(file=CARDS, cards=", ".join(unknown)))

    def __str__(self) -> str:
        """Return how much is due of each kind; empty if nothing is."""
        counts = {"exercise": len(self.exercises), "bug hunt": len(self.hunts), "card": len(self.cards)}
        return ", ".join(f"{count} {kind}{'s' * (count > 1)}" for kind, count in counts.items() if count)

    def questions_before(self, number: int) -> list[PracticeCard]:
        """Return three cards of earlier lessons: the most forgotten, or some that were never asked.

        Raises CourseError if there is no such lesson.
        """
        cards = cards_before(number)
        return sorted(cards, key=lambda card: self._recall(self._cards.get(card.id)))[:QUESTIONS]

    def rate(self, card: PracticeCard, rating: int) -> None:
        """Keep how well a card was remembered, from 1 to 4. Raises CourseError if it cannot be written."""
        self.card_record.add_review(card.id, str(self.today), rating)
        if not self.card_record.is_kept:
            raise CourseError(NOT_KEPT.format(file=self.folder / CARDS))

    def _plans(self, reviews: Mapping[str, Mapping[str, int]]) -> dict[str, Card]:
        """Return what FSRS makes of each day's ratings. What is no rating is left out."""
        from fsrs import Card, Rating

        plans: dict[str, Card] = {}
        for name, ratings in reviews.items():
            with suppress(ValueError, TypeError):
                for day, rating in sorted(ratings.items()):
                    moment = datetime.combine(date.fromisoformat(day), time(), UTC)
                    card = plans.get(name) or Card(card_id=0)
                    plans[name] = self._scheduler.review_card(card, Rating(rating), moment)[0]
        return plans

    def _chosen(self, kind: str, plans: Mapping[str, Card], most: int) -> list[str]:
        if not self.notebook.is_file():
            return self._due(plans)[:most]
        text = self.notebook.read_text("utf-8", "replace")
        return [name for name in self._due(plans) if f'"{kind}-{name}"' in text]

    def _due(self, plans: Mapping[str, Card]) -> list[str]:
        names = [name for name, plan in plans.items() if plan.due.date() <= self.today]
        return sorted(names, key=lambda name: self._recall(plans[name]))

    def _recall(self, plan: Card | None) -> float:
        """Return the probability that something is remembered today; 0 if it was never practised."""
        midnight = datetime.combine(self.today, time(), UTC)
        return self._scheduler.get_card_retrievability(plan, midnight) if plan else 0.0
