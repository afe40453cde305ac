"""Calls of a platform's services: tokens, pages, rate limits, and errors that pass."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec
import requests
from joserfc import jwt
from joserfc.jwk import RSAKey
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from nbjudge.errors import CourseError, PlatformRefusalError
from nbjudge.plain_text import plain_line

if TYPE_CHECKING:
    from nbjudge.lti.registration import Registration

SCOPES = (
    "https://purl.imsglobal.org/spec/lti-ags/scope/lineitem",
    "https://purl.imsglobal.org/spec/lti-ags/scope/score",
    "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly",
)
MEMBERS = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# `Retry-After` counts, else the seconds between two tries are doubled.
RETRIES = Retry(
    6, connect=2, read=2, backoff_factor=1, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=None
)
TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of an answer
UNAUTHORIZED, CONFLICT, THROTTLED = 401, 409, 429
NO_TOKEN = "{error} The platform gives no access token: compare client id, token URL and public key there."


class Member(msgspec.Struct, frozen=True):
    """Someone in the platform's course (NRPS 2.0, section 2.2)."""

    user_id: str
    roles: list[str] = []
    status: str | None = None
    name: str | None = None
    email: str | None = None
    lis_person_sourcedid: str | None = None

    @property
    def is_active(self) -> bool:
        """Return whether the member is in the course now."""
        return self.status in (None, "Active")


class Platform:
    """The services of a platform for one course."""

    def __init__(self, registration: Registration) -> None:
        if registration.missing:
            raise CourseError(f"The platform is not set up: type `nbjudge lti setup {registration.missing}`.")
        self.registration = registration
        self._token = ""
        logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)  # prints each try otherwise
        self._once, self._session = requests.Session(), requests.Session()
        self._once.auth = self._session.auth = self._authorize
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=RETRIES))

    def learners(self) -> list[Member]:
        """Read the students of the course, those that have left as well."""
        pages = self.pages(self.registration.memberships_url, MEMBERS)
        try:
            rows = [each | {"user_id": str(each["user_id"])} for page in pages for each in page["members"]]
            members = msgspec.convert(rows, list[Member])
        except (LookupError, TypeError, msgspec.ValidationError) as error:
            raise CourseError(f"The platform answers with no list of members ({error}).") from error
        # A role is a URI or, for roles of the course, its last word.
        return [each for each in members if any(role.split("#")[-1] == "Learner" for role in each.roles)]

    def pages(self, url: str, media_type: str, **params: str) -> Iterator[Any]:
        """Yield what a service lists, page by page."""
        seen: set[str] = set()
        while url not in seen:
            seen.add(url)
            response = self.request("GET", url, {"Accept": media_type}, params=params)
            yield content_of(response)
            url, params = urljoin(url, response.links.get("next", {}).get("url", url)), {}

    def request(
        self, method: str, url: str, headers: dict[str, str], repeat: bool = True, **options: Any
    ) -> requests.Response:
        """Call a service; again after an error that passes, where the request may `repeat`.

        Raises PlatformRefusalError where the platform refuses this request, and CourseError where it cannot
        be reached or refuses all.
        """
        session = self._session if repeat else self._once
        for _ in range(2):
            self._token = self._token or self._new_token()
            response = _send(session, method, url, headers=headers, **options)
            if response.status_code != UNAUTHORIZED:
                break
            self._token = ""
        return _accepted(response)

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token; without this function, requests would add what ~/.netrc has for a host."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _new_token(self) -> str:
        """Ask for a token with a statement that our key signs (Security Framework 1.0, section 4.1)."""
        ours, key, now = self.registration, RSAKey.import_key(self.registration.key), int(time.time())
        claims: dict[str, Any] = {"iss": ours.client_id, "sub": ours.client_id, "jti": uuid.uuid4().hex}
        # Platforms refuse a statement from the future, and Canvas one that holds for more than a minute.
        claims |= {"aud": ours.audience or ours.token_url, "iat": now - 5, "exp": now + 55}
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": JWT_BEARER,
            "client_assertion": jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key),
            "scope": " ".join(SCOPES),
        }
        try:
            response = _accepted(_send(self._session, "POST", ours.token_url, data=form))
            return str(content_of(response)["access_token"])
        except (PlatformRefusalError, LookupError, TypeError) as error:
            raise CourseError(NO_TOKEN.format(error=error)) from error


def content_of(response: requests.Response) -> Any:
    """Return what a service answers; CourseError where that is not JSON."""
    try:
        return response.json()
    except requests.JSONDecodeError as error:
        raise CourseError(f"{response.url} does not answer with JSON: check this address.") from error


def _send(session: requests.Session, method: str, url: str, **options: Any) -> requests.Response:
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname != "127.0.0.1":
        raise CourseError(f"{url!r} is no https address: tokens and scores are sent encrypted only.")
    try:
        return session.request(method, url, timeout=TIMEOUT, allow_redirects=False, **options)
    except requests.RequestException as error:
        reason = plain_line(str(getattr(error.args[0], "reason", error)) if error.args else repr(error))
        raise CourseError(f"{parts.netloc} cannot be reached ({reason}): try again later.") from error


def _accepted(response: requests.Response) -> requests.Response:
    """Return a response if the platform did what it was asked for, now or at an earlier try."""
    tries = response.raw.retries.history if response.raw.retries else ()
    may_have_arrived = any(each.status != THROTTLED for each in tries)
    if (response.ok and not response.is_redirect) or (response.status_code == CONFLICT and may_have_arrived):
        return response
    words = plain_line(response.text) or response.headers.get("Location") or response.reason
    kind = CourseError if response.status_code == UNAUTHORIZED else PlatformRefusalError
    raise kind(f"{response.url} refuses the request ({response.status_code}: {words}).")
