"""The verdict on the answer to a question (`nbjudge.quiz`), which no student code takes part in."""

from __future__ import annotations

from nbjudge.judge.verdict import Finding, GroupVerdict, Verdict
from nbjudge.quiz import ANSWERS_FILE, Question

NO_ANSWER = (
    f"No answer to this question was handed in. Answers are kept in the file {ANSWERS_FILE} beside the "
    "notebook: hand it in as well, or write `ask({name!r}, answer=…)` in a cell of your own."
)
RIGHT_ANSWER, WRONG_ANSWER = "right answer", "wrong answer"  # kinds of findings; the first is no fault
TAKEN_BACK = "a wrong choice takes these points back"


def question_verdict(question: Question, answer: object, points: float) -> Verdict:
    """Return the verdict on an answer that was handed in; None is no answer.

    Of several right choices each is worth a share of the points, and each wrong one takes a share back.
    """
    given = question.read(answer)
    hits = question.hits(given)
    groups = tuple(
        GroupVerdict(
            question.choices[letter] if letter else "your answer",
            points / len(hits),
            is_hit,
            TAKEN_BACK if letter and letter in given and not is_hit else "",
        )
        for letter, is_hit in hits.items()
    )
    if not given:
        finding = Finding(NO_ANSWER.format(name=question.name))
    else:
        shown = question.shown_answer(given)
        is_right = all(hits.values())
        finding = Finding(
            f"You answered “{shown}”. {question.reply(given)}".rstrip(),
            # Of a number or a word, each student's own may be another one.
            f"answered {shown}" if question.choices and not is_right else None,
            kind=RIGHT_ANSWER if is_right else WRONG_ANSWER,
        )
    return Verdict(question.name, 0, groups, (finding,))
