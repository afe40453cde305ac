"""Scores sent to a learning platform, and what platforms and classes do meanwhile."""

import io
import json
import re
import shlex
import shutil
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

pytest.importorskip("lti1p3platform", reason="lti1p3platform is not installed")
pytest.importorskip("joserfc", reason="joserfc is not installed")

import msgspec
import numpy as np
from lti_platform import CLIENT, KEY, Platform, served
from nbgrader.api import Gradebook
from rich.console import Console
from term_class import make_course, typed

from nbjudge.errors import CourseError
from nbjudge.lti import services
from nbjudge.lti.publish import Publication, plain_number
from nbjudge.lti.registration import FILE, read_registration, set_up, urls_of

# nbgrader's gradebook links a submission before it adds it.
pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Object of type <Submitted:sqlalchemy.exc.SAWarning"),
]
PAGE = Path(__file__).parents[2] / "docs/platforms.md"
SHOWN = Console(file=io.StringIO(), width=250)


@pytest.fixture(scope="module")
def made_course(tmp_path_factory):
    root = tmp_path_factory.mktemp("course")
    make_course(root)
    return root


@pytest.fixture
def root(made_course, tmp_path, monkeypatch):
    monkeypatch.setattr(services, "RETRIES", services.RETRIES.new(backoff_factor=0))
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login someone password else")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))  # which requests would send in place of the token
    return Path(shutil.copytree(made_course, tmp_path / "course"))


@pytest.fixture
def platform(root):
    """A platform where the course is registered, with two pages of members."""
    with served() as platform:
        set_up(root, {}, SHOWN)
        platform.tool_keys.append(public_key(root))
        platform.join("u-ada", lis_person_sourcedid="ada", name="Ada King")
        platform.join("teacher", role="http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor")
        platform.join(102, role="Learner", email="BEN@example.org", status="Active")
        set_up(root, answers(platform), SHOWN)
        yield platform


def answers(platform: Platform) -> dict[str, str]:
    """The platform's answers, as Moodle's addresses."""
    return urls_of(f"{platform.url}/course/view.php?id=5", "3") | {"client_id": CLIENT}


def public_key(root: Path) -> dict[str, str]:
    key = read_registration(root).key
    return {name: key[name] for name in ("n", "e", "kty", "kid", "alg", "use")}


def grade(root: Path, student: str, points: float, comment: str = "", waits: bool = False, **fields) -> None:
    """Enter points into the gradebook."""
    with Gradebook(f"sqlite:///{root / 'gradebook.db'}") as gradebook:
        gradebook.update_or_create_student(student, **fields)
        gradebook.update_or_create_submission("ps1", student)
        entry = gradebook.find_grade("t", "week", "ps1", student)
        entry.auto_score, entry.needs_manual_grade = points, waits
        gradebook.find_comment("a", "week", "ps1", student).manual_comment = comment or None
        gradebook.db.commit()


def publish(root: Path, dry_run: bool = False, status: int = 0) -> str:
    """Publish; returns what is shown, on one line."""
    console = Console(file=io.StringIO(), width=250)
    assert Publication(root, "ps1", console, dry_run).publish() == status
    return " ".join(console.file.getvalue().split())


def posted(platform: Platform) -> int:
    """How many scores were sent so far, refused and repeated ones as well."""
    return sum(line.startswith("POST") and line.endswith("/scores") for line in platform.log)


@pytest.fixture
def graded(root):
    grade(root, "ada", 12.3456, "Well argued.")
    grade(root, "ben", 7, email="ben@example.org")
    return root


def test_a_penalty_follows_a_mark_before_the_score_is_sent(graded, platform):
    """Also in what a dry run shows, which enters none."""
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        gradebook.find_assignment("ps1").duedate = datetime(2026, 12, 1)
        gradebook.find_submission("ps1", "ada").timestamp = datetime(2026, 12, 1, 12)
        gradebook.db.commit()
    assert "ada 11.11 of 15, Well argued. 12 h late, 10 %: 1.23 points" in publish(graded, dry_run=True)
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        assert gradebook.find_submission("ps1", "ada").late_submission_penalty == 0
        gradebook.find_grade("t", "week", "ps1", "ada").manual_score = 10
        gradebook.db.commit()
    publish(graded)
    assert platform.scores["u-ada"][-1]["scoreGiven"] == 9
    assert platform.scores["u-ada"][-1]["comment"].endswith("12 h late, 10 %: 1 point")


def test_only_what_changed_is_sent(graded, platform):
    said = publish(graded, dry_run=True)
    assert "A new column at the platform for ps1 has the maximum 15. 2 of 2 scores have changed." in said
    assert not platform.columns and not platform.scores
    said = publish(graded)
    assert re.search(r"ada +12.35 of 15, Well argued. ben +7 of 15 A new column", said)
    (column,) = platform.columns.values()
    assert (column["label"], column["resourceId"], column["scoreMaximum"]) == ("ps1", "ps1", 15)
    score = platform.scores["u-ada"][-1]
    assert score | {"scoreGiven": 12.35, "scoreMaximum": 15, "comment": "Well argued."} == score
    assert (score["activityProgress"], score["gradingProgress"]) == ("Completed", "FullyGraded")
    assert "0 of 2 scores were sent." in publish(graded) and posted(platform) == 2
    grade(graded, "ben", 8, email="ben@example.org")
    assert "ben 7 of 15 8 of 15" in publish(graded, dry_run=True)
    assert "1 of 2 scores were sent." in publish(graded) and posted(platform) == 3
    assert platform.scores["102"][-1]["scoreGiven"] == 8 and "comment" not in platform.scores["102"][-1]
    log = graded / "published/ps1.jsonl"
    assert re.findall(r'"student":"(\w+)"', log.read_text()) == ["ada", "ben", "ben"]
    assert log.stat().st_mode & 0o777 == (graded / FILE).stat().st_mode & 0o777 == 0o600


def test_what_is_no_finished_score_is_told(graded, platform):
    grade(graded, "ada", 15, waits=True)
    grade(graded, "ben", 17, email="ben@example.org")
    grade(graded, "inf", 1)
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        gradebook.find_grade("t", "week", "ps1", "inf").extra_credit = float("inf")
        gradebook.db.commit()
    said = publish(graded)
    assert "Not marked yet, and sent without points: ada." in said
    assert "More than the maximum, and sent as the maximum: ben (17 of 15)." in said
    assert "Their points are no number, and not sent: inf." in said
    waiting = platform.scores["u-ada"][-1]
    assert waiting["gradingProgress"] == "PendingManual" and "scoreGiven" not in waiting
    assert platform.scores["102"][-1]["scoreGiven"] == 15
    grade(graded, "ada", 15)
    assert "ada not marked yet 15 of 15" in publish(graded)


@pytest.mark.parametrize(
    ("value", "plain"),
    [(2, 2.0), (np.float32(0.1), 0.1), (np.int64(3), 3.0), (np.float64("nan"), None), (float("inf"), None)]
    + [(True, None), (np.bool_(True), None), ("7", None), (None, None), (Decimal(1), None)],
)
def test_points_are_plain_numbers(value, plain):
    assert plain_number(value) == plain and type(plain_number(value)) is type(plain)


def test_who_cannot_be_matched_is_told(graded, platform):
    for student, fields in (
        ("carl", {}),
        ("cid", {"lms_user_id": "77"}),
        ("dora@example.org", {}),
        ("eve", {}),
    ):
        grade(graded, student, 5, **fields)
    platform.join("77", status="Inactive", name="Cid")  # has left
    platform.join("105", email="dora@example.org", status=None)
    platform.join("106", name="Eve Adam", lis_person_sourcedid=None, email=None)  # by name never
    said = publish(graded)
    assert set(platform.scores) == {"u-ada", "102", "105"}
    assert "No longer active in the platform's course, and not sent: cid." in said
    assert "Not in the platform's course, and not sent: carl, eve. Is their number" in said
    assert "Students of the platform's without a score here: Eve Adam." in said
    platform.members[4]["status"] = "Deleted"
    grade(graded, "dora@example.org", 6)
    assert "and not sent: cid, dora@example.org" in publish(graded) and len(platform.scores["105"]) == 1
    platform.join("107", email="ben@example.org", name="Ben II")
    with pytest.raises(CourseError, match=r"ben fits two students of the platform's \(102, Ben II\)"):
        publish(graded)


def test_a_changed_maximum_is_told(graded, platform):
    publish(graded)
    platform.columns["1"]["label"] = "Week 1"  # the instructor's own
    platform.columns["1"]["scoreMaximum"] = 10
    assert "The platform's column for ps1 has the maximum 15, before 10." in publish(graded, dry_run=True)
    assert platform.columns["1"]["scoreMaximum"] == 10
    platform.faults["/scores"] = [None, *[(500, {})] * 7]
    with pytest.raises(CourseError, match="1 of 2 scores were sent"):
        publish(graded)
    assert (platform.columns["1"]["scoreMaximum"], platform.columns["1"]["label"]) == (15, "Week 1")
    assert "1 of 2 scores were sent." in publish(graded)  # the platform may have scaled both
    assert [len(scores) for scores in platform.scores.values()] == [2, 2]
    with Gradebook(f"sqlite:///{graded / 'gradebook.db'}") as gradebook:
        gradebook.find_graded_cell("t", "week", "ps1").max_score = 20
        gradebook.db.commit()
    said = publish(graded)
    assert "has the maximum 20, before 15. 2 of 2 scores were sent." in said
    assert "ben 7 of 15 7 of 20" in said and platform.scores["102"][-1]["scoreMaximum"] == 20


def test_a_run_that_stopped_goes_on(graded, platform, monkeypatch):
    def interrupt(session: object, method: str, url: str, send=services._send, **options):
        if url.partition("?")[0].endswith("/scores"):
            raise KeyboardInterrupt
        return send(session, method, url, **options)

    platform.faults["/scores"] = [None, *[(500, {})] * 7]
    with pytest.raises(
        CourseError, match=r"too many 500 .*: try again later\. 1 of 2 scores were sent; the same"
    ):
        publish(graded)
    monkeypatch.setattr(services, "_send", interrupt)
    with pytest.raises(CourseError, match=r"^Interrupted\. 0 of 1 scores were sent"):
        publish(graded)
    monkeypatch.undo()
    assert "1 of 2 scores were sent." in publish(graded)
    assert [len(platform.scores[user]) for user in ("u-ada", "102")] == [1, 1]


def test_an_answer_that_is_lost_sends_nothing_twice(graded, platform):
    """The score arrives, its answer does not: the platform refuses the same time again, and that is told."""
    platform.faults["/scores"] = ["lost"]
    assert "2 of 2 scores were sent." in publish(graded)
    assert posted(platform) == 3 and len(platform.scores["u-ada"]) == 1
    platform.faults["lineitems"] = [None, "lost"]
    platform.columns.clear()
    with pytest.raises(CourseError, match="cannot be reached"):
        publish(graded)
    publish(graded)  # finds the column that was made
    assert len(platform.columns) == 1


def test_rate_limits_and_short_outages_pass(graded, platform, monkeypatch):
    pauses = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", pauses.append)
    platform.faults["/scores"] = [(429, {"Retry-After": "7"}), (503, {}), None]
    assert "2 of 2 scores were sent." in publish(graded)
    assert 7 in pauses and [len(scores) for scores in platform.scores.values()] == [1, 1]


def test_a_score_that_is_refused_stops_no_other(graded, platform):
    platform.faults["/scores"] = [(422, {})]
    said = publish(graded, status=1)
    assert "1 of 2 scores were sent." in said and re.search(r"ada: http\S+ refuses the request \(422: ", said)
    assert "1 of 2 scores were sent." in publish(graded)


def test_an_expired_token_is_replaced(graded, platform):
    platform.faults["token.php"] = ["expired", None]
    assert "2 of 2 scores were sent." in publish(graded)
    platform.faults["token.php"] = ["expired"] * 3
    with pytest.raises(CourseError, match=r"refuses the request \(401: .*Signature has expired"):
        publish(graded)


def test_keys_and_addresses_that_are_wrong(graded, platform, monkeypatch):
    def fails(words: str, **changed: str) -> None:
        registration = msgspec.structs.replace(read_registration(graded), **changed)
        with pytest.raises(CourseError, match=words) as caught:
            services.Platform(registration).learners()
        assert str(caught.value).count(". ") <= 1

    fails("gives no access token: compare client id", client_id="another")
    fails("another audience", audience="https://elsewhere.example")
    fails("cannot be reached", token_url="http://127.0.0.1:9/token")
    fails("is no https address", token_url="http://platform.example/token")
    fails(r"type `nbjudge lti setup --client-id …`", client_id="")
    platform.faults["memberships"] = [(302, {"Location": "https://platform.example/"}), (403, {}), (200, {})]
    for words in (r"302: ", r"403: ", "no list of members"):
        fails(words)
    monkeypatch.setattr("lti1p3platform.ltiplatform.LTI_1P3_ACCESS_TOKEN_SCOPES", [])
    fails(r"refuses the request \(401: \"Invalid LTI 1.3 authentication token")
    monkeypatch.undo()
    platform.tool_keys[0] |= {"n": KEY.as_dict(private=False)["n"]}
    fails("Signature verification failed")
    with pytest.raises(CourseError, match="--course takes a page of Canvas"):
        urls_of("https://moodle.example/course/view.php?id=5", "")
    (graded / FILE).chmod(0o640)
    with pytest.raises(CourseError, match="Other accounts can read .*, and so send grades: type `chmod 600"):
        read_registration(graded)


def test_the_page_as_typed(graded):
    """The commands of docs/platforms.md, at a platform with Canvas's addresses."""
    text = PAGE.read_text().partition("## Send scores by LTI")[2].partition("\n## ")[0]
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 4
    with served() as platform:
        platform.join("u-ada", lis_person_sourcedid="ada")
        said = []
        for line in lines:
            line = line.replace("https://canvas.example.org", platform.url)
            if "--client-id" in line:
                platform.tool_keys.append(public_key(graded))
                shown = said[0]
                assert json.loads(re.search(r"{[^{}]+kty[^{}]+}", shown)[0])["kid"]
            said.append(typed(graded, *shlex.split(line)))
        assert "BEGIN PUBLIC KEY" in said[0] and "PRIVATE" not in said[0]
        assert "The platform answers: 1 students are active in its course." in said[1]
        assert "1 of 2 scores have changed." in said[2] and "1 of 2 scores were sent." in said[3]
        assert "Give --lti" in typed(graded, "nbjudge", "publish", "ps1", status=1)
