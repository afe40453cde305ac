"""Dates: as a course writes them, in its time zone, and as nbgrader stores them, in UTC without a zone.

In the hour that exists twice when clocks go back, a deadline is the later one and the time of a submission
the earlier one, so that the change costs no student a minute.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from traitlets.config import Config

from nbjudge.errors import CourseError
from nbjudge.settings import CourseSettings

DAY = timedelta(days=1)
# As file names have it; nbgrader reads 09-30-00 as 09:00:00, with a time zone of -30 minutes.
IN_FILE_NAME = re.compile(r"(\d{4}-\d\d-\d\d)[-_ T](\d\d)[-_.:](\d\d)[-_.:](\d\d)")
# As Moodle's grading worksheet has it in English.
IN_WORKSHEET = "%A, %d %B %Y, %I:%M %p"
NO_DATE = (
    "{text!r} is no date and time: write it as '2026-12-01 23:59', with a zone where it is not {zone}'s."
)
NO_SUCH_TIME = (
    "{text} does not exist in {zone}, where clocks go forward then: write {before:%H:%M} or {after:%H:%M}."
)


def course_zone(config: Config) -> ZoneInfo:
    """The time zone in which a course writes its dates (`c.Course.timezone`)."""
    return ZoneInfo(CourseSettings(config=config).timezone)


def read_deadline(text: str, zone: ZoneInfo) -> datetime:
    """Read a deadline that a person has typed.

    Parameters
    ----------
    text
        Date and time, such as `2026-12-01 23:59`; in another zone than the course's with an offset or a
        zone's name behind (`2026-12-01 23:59 UTC`).
    zone
        The course's time zone.

    Returns
    -------
    datetime
        In UTC, without a zone, as nbgrader stores it.

    Raises
    ------
    CourseError
        If it is no date, has no time, or does not exist because clocks go forward.
    """
    time, zone = _read(text, zone)
    if time.tzinfo is not None:
        return _naive(time)
    early, late = _readings(time, zone)
    if shown_in(late, zone).replace(tzinfo=None) != time:
        first, last = (shown_in(each, zone) for each in (early, late))
        raise CourseError(NO_SUCH_TIME.format(text=text, zone=zone, before=first, after=last))
    return late


def read_received(text: str, zone: ZoneInfo) -> datetime:
    """Read when a submission came, as a platform wrote it in a file's name or a table.

    Otherwise as `read_deadline`; but no time is refused because clocks change.
    """
    found = IN_FILE_NAME.fullmatch(text.strip())
    if found:
        text = "{} {}:{}:{}".format(*found.groups())
    time, zone = _read(text, zone)
    return _naive(time) if time.tzinfo is not None else _readings(time, zone)[0]


def _read(text: str, zone: ZoneInfo) -> tuple[datetime, ZoneInfo]:
    """The time with its offset, or without one and the zone that it is in."""
    day, _, rest = text.strip().partition(" ")
    clock, _, named = rest.partition(" ")
    try:
        if named and named[0] not in "+-0123456789" and ":" in clock:
            return datetime.fromisoformat(f"{day} {clock}"), ZoneInfo(named)
        if len(text.strip()) > len("2026-12-01") and day[0].isdigit():
            return datetime.fromisoformat(f"{day} {clock}{named}".strip()), zone
        return datetime.strptime(text.strip(), IN_WORKSHEET), zone
    except (ValueError, ZoneInfoNotFoundError, OSError):
        raise CourseError(NO_DATE.format(text=text, zone=zone)) from None


def _readings(time: datetime, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """The earlier and the later time in UTC that a time without an offset may mean, mostly one."""
    early, late = sorted(_naive(time.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    return early, late


def _naive(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(tzinfo=None)


def shown_in(time: datetime, zone: ZoneInfo) -> datetime:
    """One of nbgrader's times in a zone."""
    return time.replace(tzinfo=UTC).astimezone(zone)


def shown(time: datetime | None, zone: ZoneInfo) -> str:
    """One of nbgrader's times as text, with the zone's name; empty if there is none."""
    return "" if time is None else shown_in(time, zone).strftime("%Y-%m-%d %H:%M %Z")


def days_after(time: datetime, days: int, zone: ZoneInfo) -> datetime:
    """The same time of day so many days later, also where clocks change in between."""
    return _readings(shown_in(time, zone).replace(tzinfo=None) + days * DAY, zone)[1]


def started_days(due: datetime, received: datetime, zone: ZoneInfo) -> int:
    """Count the days after a deadline that have begun; a day ends at the deadline's time of day."""
    days = max(0, math.ceil((received - due) / DAY) - 1)  # a day has 23 to 25 hours
    while received > days_after(due, days, zone):
        days += 1
    return days


def late_sentence(seconds: float, penalty: float | None, score: float) -> str:
    """Say how late something came and what it costs (3 h 20 min late, 10 %: 1.5 points), or nothing."""
    if not penalty:
        return ""
    minutes = int(seconds // 60)
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min")]
    duration = " ".join([f"{number} {unit}" for number, unit in parts if number][:2]) or f"{seconds:.0f} s"
    when = f"{duration} late" if seconds else "handed in late"
    percent = f", {100 * penalty / score:.3g} %" if score > 0 else ""
    points = round(penalty, 2)
    return f"{when}{percent}: {points:g} {'point' if points == 1 else 'points'}"
