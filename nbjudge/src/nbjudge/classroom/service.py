"""`nbjudge tutor-service`: the class's tutor and its board, as a service that a JupyterHub starts.

The hub gives it a name, a path, a token and an address in its environment (JUPYTERHUB_SERVICE_PREFIX and
others; JupyterHub's documentation, "Services").
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import threading
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tornado.web import Application

from nbjudge.classroom.board_page import BoardEvents, BoardPage, BoardTable
from nbjudge.classroom.check_events import CheckEvents
from nbjudge.classroom.http_server import BoundedServer, OwnOrigins, raise_file_limit
from nbjudge.classroom.limits import limit_address_space
from nbjudge.classroom.request_handler import SERVER_LIMITS, AppState, TutorRequestHandler
from nbjudge.classroom.signatures import Keys
from nbjudge.classroom.tutors import ClassTutors
from nbjudge.course.configuration import read_config
from nbjudge.course.course import find_course
from nbjudge.csv_files import CsvFormat
from nbjudge.errors import CourseError
from nbjudge.settings import ClassroomSettings
from nbjudge.tutor.disclosure import Disclosure
from nbjudge.tutor.material import material_of
from nbjudge.tutor.messages import REQUESTS

CHECK_EVENTS_FILE = Path(".classroom") / "check_events.jsonl"  # in the course's folder
NO_HUB = (
    "This is a service of a JupyterHub's: let the hub start it (docs/jupyterhub.md has the lines for its "
    "configuration). Its environment lacks {missing}."
)
NO_LIBRARY = "The class's tutor needs JupyterHub's library for services: pip install 'nbjudge[hub]'."
ENVIRONMENT = ("JUPYTERHUB_API_TOKEN", "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_SERVICE_URL")
# In the environment, too, where the hub knows them: by which names it and the service are reached.
ADDRESSES = ("JUPYTERHUB_SERVICE_URL", "JUPYTERHUB_PUBLIC_URL", "JUPYTERHUB_PUBLIC_HUB_URL")

log = logging.getLogger("nbjudge.classroom")


def run(course_folder: Path) -> None:
    """Serve the course of a folder until the process is ended. Raises CourseError where that cannot be."""
    missing = [name for name in ENVIRONMENT if not os.environ.get(name)]
    if missing:
        raise CourseError(NO_HUB.format(missing=", ".join(missing)))
    if find_spec("jupyterhub") is None:
        raise CourseError(NO_LIBRARY)
    course = find_course(course_folder)
    configuration = read_config(course.root)
    settings, csv_format = ClassroomSettings(config=configuration), CsvFormat.of(configuration)
    check_events = CheckEvents(course.root / CHECK_EVENTS_FILE, settings.keep_days)
    limit_address_space(settings.memory_mebibytes)
    tutors = ClassTutors(material_of(course, default=Disclosure.MEASURED), settings, check_events)
    threading.Thread(target=warm_up, args=(tutors,), daemon=True).start()
    asyncio.run(_serve(tutors, csv_format))


def application(
    state: AppState, prefix: str, login: type, hosts: Collection[str] = (), **settings: Any
) -> Application:
    """The service under a path (`/services/tutor/`); `login` is the mixin that says who looks at a page."""
    shared = {"state": state}

    def behind_login(handler: type) -> type:
        return type(handler.__name__, (login, handler), {})

    return OwnOrigins(
        [
            (f"{prefix}({'|'.join(REQUESTS)})", TutorRequestHandler, shared),
            (f"{prefix}board", behind_login(BoardPage), shared),
            (f"{prefix}board/events", behind_login(BoardEvents), shared),
            (f"{prefix}board/(table\\.csv|table\\.json)", behind_login(BoardTable), shared),
        ],
        {*state.tutors.settings.hosts, *hosts},
        **settings,
    )


async def _serve(tutors: ClassTutors, csv_format: CsvFormat) -> None:
    from jupyterhub.services.auth import (  # type: ignore[import-untyped]
        HubOAuthCallbackHandler,
        HubOAuthenticated,
    )

    state = AppState(tutors, Keys(os.environ["JUPYTERHUB_API_TOKEN"]), csv_format)
    prefix = os.environ["JUPYTERHUB_SERVICE_PREFIX"]
    hosts = {urlsplit(os.environ.get(name, "")).hostname or "" for name in ADDRESSES}
    app = application(state, prefix, HubOAuthenticated, hosts - {""}, cookie_secret=os.urandom(32))
    app.add_handlers(r".*", [(f"{prefix}oauth_callback", HubOAuthCallbackHandler)])
    address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    raise_file_limit()
    BoundedServer(app, **SERVER_LIMITS).listen(address.port or 80, address.hostname or "127.0.0.1")
    log.info("The tutor listens at %s", address.geturl())
    await asyncio.Event().wait()


def warm_up(tutors: ClassTutors) -> None:
    """Make what every check needs, before the first one comes."""
    try:
        tutors.warm_up()
    except CourseError as error:  # an assignment whose checks do not load: the others are served
        log.warning("%s", error)
    # All of this stays. Searched again and again for what is not needed, it would cost a class that
    # checks at once a tenth of its time.
    gc.collect()
    gc.freeze()
