"""A learning platform made of `lti1p3platform`, on 127.0.0.1, with the faults that platforms have.

The package checks keys, tokens, scopes and methods. It leaves to a platform what is here: what is stored, the
form of answers and pages (AGS 2.0, section 3.2; NRPS 2.0, section 2.4), what a token request names (Security
Framework 1.0, section 4.1.1), and that a score is newer than the last one (AGS 2.0, section 3.4).
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from joserfc.jwk import RSAKey
from lti1p3platform.ltiplatform import LTI1P3PlatformConfAbstract
from lti1p3platform.membership import Context
from lti1p3platform.registration import Registration
from lti1p3platform.request import Request
from lti1p3platform.response import Response, generate_next_link
from lti1p3platform.score import UpdateScoreStatus
from lti1p3platform.service_connector import AssignmentsGradesService, NamesRoleProvisioningService

CLIENT = "10000000000001"
COLUMN = re.compile(r"/(\d+)/lineitem(/scores)?$")
KEY = RSAKey.generate_key(2048)


class Configuration(LTI1P3PlatformConfAbstract):
    def init_platform_config(self, tool_keys: list[Any]) -> None:
        registration = Registration().set_iss("https://platform.example").set_client_id(CLIENT)
        registration.set_platform_private_key(KEY.as_pem(private=True).decode())
        registration.set_platform_public_key(KEY.as_pem(private=False).decode())
        self._registration = registration.set_tool_key_set({"keys": tool_keys})

    get_registration_by_params = None


class Platform(ThreadingHTTPServer):
    """A course: its members, columns and scores; and the next faults, by the end of a path."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.tool_keys: list[Any] = []
        self.members: list[dict[str, Any]] = []
        self.columns: dict[str, dict[str, Any]] = {}
        self.scores: dict[str, list[dict[str, Any]]] = {}  # by user
        self.faults: dict[str, list[Any]] = {}  # a status with headers, "lost" for its answer, or "expired"
        self.log: list[str] = []

    def join(self, user_id: str, role: str = "membership#Learner", **fields: Any) -> None:
        self.members.append({"user_id": user_id, "roles": [role]} | fields)


class Grades(AssignmentsGradesService):
    platform: Platform
    find_lineitem = delete_lineitem = get_results = None

    def find_lineitems(self, page: int, resource_id: str, tag: str, **others: str) -> Any:
        """One to a page."""
        ours = {"resourceId": resource_id, "tag": tag}
        found = [item for item in self.platform.columns.values() if item | ours == item]
        return {"content": found[page - 1 : page], "has_next": page < len(found)}

    def create_lineitem(self, creation_data: Any) -> Any:
        number = str(len(self.platform.columns) + 1)
        url = f"{self.ags.lineitems_url}/{number}/lineitem?type_id=3"
        self.platform.columns[number] = creation_data | {"id": url}
        return self.platform.columns[number]

    def update_lineitem(self, update_data: Any) -> Any:
        column = self.platform.columns[update_data.pop("id")]
        column |= update_data
        return column

    def update_score(self, line_item_id: str, score: Any) -> UpdateScoreStatus:
        scores = self.platform.scores.setdefault(score["userId"], [])
        if scores and scores[-1]["timestamp"] >= score["timestamp"]:
            return UpdateScoreStatus.OLD_TIMESTAMP
        scores.append(score)
        return UpdateScoreStatus.SUCCESS


class Names(NamesRoleProvisioningService):
    platform: Platform

    def get_member_data_page(self, page: int, limit: int) -> Any:
        members = self.platform.members
        return {
            "content": members[(page - 1) * limit : page * limit],
            "has_next": page * limit < len(members),
        }

    def get_context_by_id(self) -> Context:
        return Context("5", "term", "Term")


class Asked(Request):
    def build_metadata(self, request: Any) -> Any:
        return request


class Handler(BaseHTTPRequestHandler):
    """One request: a fault, or the answer of the package."""

    server: Platform

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        is_json = "json" in (self.headers.get("Content-Type") or "")
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query))
        asked = {"method": self.command, "headers": self.headers, "form_data": dict(parse_qsl(body))}
        asked |= {"get_data": query, "json": json.loads(body) if is_json else None}
        self.asked = Asked(asked)
        self.server.log.append(f"{self.command} {url.path}")
        faults = next((each for end, each in self.server.faults.items() if url.path.endswith(end)), [])
        fault = faults.pop(0) if faults else None
        if isinstance(fault, tuple):
            return self._reply(Response(None, fault[0], "fault"), fault[1])
        self.platform = Configuration(tool_keys=self.server.tool_keys)
        try:
            if "token" in url.path:
                response = self._token(url.path, lifetime=-60 if fault == "expired" else 3600)
            else:
                response = self._serve(f"{self.server.url}{url.path}")
        except Exception as error:  # also those of the package's own library for JWT
            response = Response({"error": str(error)}, 400 if "token" in url.path else 401, "")
        if fault == "lost":  # what was asked for is done, and the answer does not come
            return self.connection.close()
        following = response.result.pop("next", None) if isinstance(response.result, dict) else None
        return self._reply(response, {"Link": generate_next_link(following)} if following else {})

    do_POST = do_PUT = do_GET

    def _token(self, path: str, lifetime: int) -> Response:
        claims = self.platform.tool_validate_and_decode(self.asked.form_data["client_assertion"])
        assert claims["iss"] == claims["sub"] == CLIENT, "unknown client"
        assert claims["aud"] == f"{self.server.url}{path}" and claims["jti"], "another audience"
        content = self.platform.get_access_token(self.asked.form_data)
        registration = self.platform.get_registration()
        signed = {"sub": CLIENT, "iss": registration.get_iss(), "scopes": content["scope"]}
        token = registration.encode_and_sign(signed, registration.get_platform_private_key(), None, lifetime)
        return Response(content | {"access_token": token}, 200, "")

    def _serve(self, url: str) -> Response:
        query = self.asked.get_data
        query["page"] = int(query.get("page", 1))  # the package adds 1 to it
        if url.endswith(("/memberships", "/names_and_roles")):
            names = Names(self.asked, self.platform, url)
            names.platform = self.server
            query["limit"] = 2
            return names.handle_resp(names.handle_get_members)
        grades = Grades(self.asked, self.platform, url)
        grades.platform = self.server
        column = COLUMN.search(url)
        if column is not None:
            handle = grades.handle_update_score if column[2] else grades.handle_update_lineitem
            return grades.handle_resp(handle, line_item_id=column[1])
        if self.command == "POST":
            return grades.handle_resp(grades.handle_create_lineitem)
        return grades.handle_resp(grades.handle_get_lineitems)

    def _reply(self, response: Response, headers: dict[str, str]) -> None:
        is_container = isinstance(response.result, dict) and "has_next" in response.result
        content = response.result["content"] if is_container else response.result or response.message
        body = json.dumps(content).encode()
        self.send_response(response.code)
        for name, value in {"Content-Type": response.media_type, **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@contextmanager
def served() -> Iterator[Platform]:
    """Serve a platform while the block runs."""
    with Platform() as platform:
        thread = Thread(target=platform.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield platform
        finally:
            platform.shutdown()
            thread.join()
