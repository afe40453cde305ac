"""`nbjudge lti setup`: the course's key, what a platform wants to know, and what it answers.

Nothing is launched. So only a client id, a token URL and a public key are needed (Security Framework 1.0,
section 4), and the addresses of two services, which a launch would bring. Canvas and Moodle make these of
the course's number: https://github.com/instructure/canvas-lms/blob/master/config/routes.rb (`lti`) and
https://github.com/moodle/moodle/tree/main/mod/lti/service (the templates of the resources).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from joserfc.jwk import RSAKey
from rich.console import Console

from nbjudge.atomic_files import write_atomically
from nbjudge.errors import CourseError
from nbjudge.lti.services import Platform
from nbjudge.term.tables import show

FILE = ".lti.json"
URLS = ("token_url", "line_items_url", "memberships_url")
# By the address of a course's page; {2} is the deployment id.
COURSE_PAGES = {
    r"(https?://[^/]+)/courses/(\d+)": (
        "{0}/login/oauth2/token",
        "{0}/api/lti/courses/{1}/line_items",
        "{0}/api/lti/courses/{1}/names_and_roles",
    ),
    r"(https?://.+)/course/view\.php\?(?:.*&)?id=(\d+)": (
        "{0}/mod/lti/token.php",
        "{0}/mod/lti/services.php/{1}/lineitems?type_id={2}",
        "{0}/mod/lti/services.php/CourseSection/{1}/bindings/{2}/memberships",
    ),
}
WANTED = """\
Register a tool of LTI 1.3 at the platform, and place it in the course. The platform wants:

Login, launch and redirect URL: an https address of yours, such as the course's page; it is never called.
Services: manage line items, send scores, read names and roles. Privacy: share names and e-mail addresses.
Public key, for Moodle (RSA key):
{pem}
Public key, for Canvas (JWK); in a file at an https address of yours, with {{"keys": [ before it and ]}} \
after it, the key set for Blackboard, Brightspace and Sakai:
{jwk}

Then type what it answers: nbjudge lti setup {missing}"""


class Registration(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A course at a platform: our private key as JWK, and what the platform answered, or nothing yet."""

    key: dict[str, Any] = {}
    client_id: str = ""
    token_url: str = ""
    audience: str = ""
    line_items_url: str = ""
    memberships_url: str = ""

    @property
    def missing(self) -> str:
        """The options of `nbjudge lti setup` without an answer."""
        names = (name for name in ("client_id", *URLS) if not getattr(self, name))
        return " ".join(f"--{name.replace('_', '-')} …" for name in names)


def read_registration(root: Path) -> Registration:
    """Read a course's registration. Raises CourseError where other accounts can read the key in it."""
    file = root / FILE
    try:
        if file.stat().st_mode & 0o077:
            raise CourseError(
                f"Other accounts can read {file}, and so send grades: type `chmod 600 {file}`, or remove it "
                "and register again if one may have read it."
            )
        return msgspec.json.decode(file.read_bytes(), type=Registration)
    except FileNotFoundError:
        return Registration()
    except (OSError, msgspec.DecodeError) as error:
        raise CourseError(f"{file} cannot be read ({error}): remove it and register again.") from error


def urls_of(course: str, deployment_id: str) -> dict[str, str]:
    """Return the URLs of tokens and services for a course's page; CourseError where that is none."""
    for page, urls in COURSE_PAGES.items():
        found = re.match(page, course)
        if found and (deployment_id or "{2}" not in urls[-1]):
            return {
                name: url.format(*found.groups(), deployment_id) for name, url in zip(URLS, urls, strict=True)
            }
    raise CourseError(
        "--course takes a page of Canvas (…/courses/5) or, with --deployment-id, of Moodle "
        "(…/course/view.php?id=5). For other platforms give --token-url and the URLs of the services."
    )


def set_up(root: Path, answers: dict[str, str], console: Console) -> None:
    """Store answers, print what the platform wants, and read its members once nothing is missing."""
    registration = msgspec.structs.replace(read_registration(root), **answers)
    if not registration.key:
        made = RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)
        registration = msgspec.structs.replace(registration, key=made.as_dict(private=True))
    try:
        write_atomically(root / FILE, msgspec.json.encode(registration), 0o600)
    except OSError as error:
        raise CourseError(f"{root / FILE} cannot be written ({error.strerror}).") from error
    if registration.missing:
        key = RSAKey.import_key(registration.key)
        jwk, pem = msgspec.json.encode(key.as_dict(private=False)), key.as_pem(private=False)
        text = WANTED.format(pem=pem.decode(), jwk=jwk.decode(), missing=registration.missing)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
        return
    with console.status("Asking the platform …"):
        number = sum(member.is_active for member in Platform(registration).learners())
    show(console, [f"The platform answers: {number} students are active in its course."])
