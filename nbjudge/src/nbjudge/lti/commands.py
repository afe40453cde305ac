"""The commands `nbjudge lti setup` and `nbjudge publish`; what takes long is imported where it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from nbjudge.term.commands import Assignment, DryRun


def add_commands(app: typer.Typer, console: Console) -> None:
    """Add the commands to a program."""
    lti = typer.Typer(no_args_is_help=True, help="The connection with a learning platform (LTI 1.3).")
    app.add_typer(lti, name="lti")

    @lti.command()
    def setup(
        course: Annotated[
            str, typer.Option(help="The address of the course's page in Canvas or Moodle: gives the URLs.")
        ] = "",
        client_id: Annotated[str, typer.Option(help="The client id that the platform gave.")] = "",
        deployment_id: Annotated[str, typer.Option(help="The deployment id, for Moodle.")] = "",
        token_url: Annotated[str, typer.Option(help="The URL of access tokens.")] = "",
        audience: Annotated[str, typer.Option(help="The `aud` of token requests, if not that URL.")] = "",
        line_items_url: Annotated[str, typer.Option(help="The course's `lineitems` (AGS).")] = "",
        memberships_url: Annotated[
            str, typer.Option(help="The course's `context_memberships_url` (NRPS).")
        ] = "",
    ) -> None:
        """Print what the platform wants, and store what it answers; once all is there, try it.

        The key is made at the first call. It is in .lti.json with the answers, readable by you only.
        """
        from nbjudge.course.folders import find_root
        from nbjudge.lti.registration import set_up, urls_of

        answers = {"client_id": client_id, "token_url": token_url, "audience": audience}
        answers |= {"line_items_url": line_items_url, "memberships_url": memberships_url}
        urls = urls_of(course, deployment_id) if course else {}
        set_up(find_root(Path.cwd()), urls | {name: each for name, each in answers.items() if each}, console)

    @app.command()
    def publish(
        assignment: Assignment,
        lti: Annotated[bool, typer.Option("--lti", help="As `nbjudge lti setup` has set up.")] = False,
        dry_run: DryRun = False,
    ) -> None:
        """Send the scores that have changed to the learning platform.

        Exits with status 1 if not all were sent; the next run continues where this one stopped.
        """
        from nbjudge.errors import CourseError

        if not lti:
            raise CourseError("Give --lti; `nbgrader export` writes CSV files for Canvas and Moodle.")
        from nbjudge.lti.publish import Publication

        raise typer.Exit(Publication(Path.cwd(), assignment, console, dry_run).publish())
