"""Settings that a course had before nbjudge are taken over or named, and misspelt ones are errors."""

import json
import shutil
import sys

import nbformat
import pytest
from old_course import make_old_course
from traitlets.config import Config
from traitlets.utils.importstring import import_item
from typer.testing import CliRunner

from nbjudge.cli import app
from nbjudge.course.configuration import Option, check_settings, options_in_force, options_of
from nbjudge.errors import SandboxError, SettingsError
from nbjudge.kernel.client import open_kernel
from nbjudge.kernel.process import KernelEnvironment, refuse_other_languages, start_process
from nbjudge.nbgrader_hooks import RunAndJudge
from nbjudge.settings import SECTIONS, Limits, execute_remarks

pytestmark = pytest.mark.integration


def limits(**sections) -> Limits:
    return RunAndJudge(config=Config(sections)).limits


def remarks(**sections) -> str:
    return "".join(execute_remarks(limits(**sections), Config(sections)))


@pytest.mark.parametrize(
    ("sections", "limit", "value"),
    [
        ({}, "cell", Limits().cell),
        ({"Execute": {"timeout": 7}}, "cell", 7),
        ({"ExecutePreprocessor": {"timeout": 8}}, "cell", 8),
        ({"Execute": {"timeout": 7}, "ExecutePreprocessor": {"timeout": 8}}, "cell", 7),
        ({"Execute": {"startup_timeout": 90}}, "startup", 90),
        ({"Execute": {"timeout": 7}, "RunAndJudge": {"cell_seconds": 9}}, "cell", 9),
        ({"Execute": {"timeout": 900}}, "notebook", 900),
        ({"Execute": {"timeout": 900}, "RunAndJudge": {"notebook_seconds": 400}}, "notebook", 400),
        ({"Execute": {"timeout": None}}, "cell", Limits().notebook),
        ({"Execute": {"timeout": -1}}, "cell", Limits().notebook),
    ],
)
def test_nbgraders_timeout_is_the_limit_of_a_cell(sections, limit, value):
    """nbjudge's own setting wins, and a notebook may take as long as one cell. No limit is the notebook's."""
    assert getattr(limits(**sections), limit) == value
    assert ("sets no limit" in remarks(**sections)) == (
        sections.get("Execute", {}).get("timeout", 0) in (None, -1)
    )


def test_settings_without_effect_are_named():
    """Other options are no errors; nbgrader's command stops at a misspelt one of ours."""
    execute = {"extra_arguments": ["--x"], "allow_errors": False, "record_timing": False}
    remark = remarks(Execute=execute, ExecutePreprocessor={"error_on_timeout": {}})
    names = "c.Execute.allow_errors, c.ExecutePreprocessor.error_on_timeout, c.Execute.extra_arguments"
    assert names in remark and "record_timing" not in remark
    assert remarks(Execute={"timeout": 60, "startup_timeout": 90}) == ""
    with pytest.raises(SystemExit, match=r"Nothing was graded\. .*cell_second "):
        limits(RunAndJudge={"cell_second": 5})
    of_others = {"PythonExporter": {"exclude_raw": True}, "ExportPlugin": {"to": "scores.csv"}}
    ours = {"RunAndJudge": {"enabled": True}, "FeedbackExporter": {"template_name": "mine"}}
    check_settings(Config(of_others | ours | {"CanvasExporter": {"missing": "zero"}}))


@pytest.mark.parametrize(
    ("section", "options", "message"),
    [
        (
            "RunAndJudge",
            {"cell_second": 5},
            r"no option c\.RunAndJudge\.cell_second .* Did you mean cell_seconds\?",
        ),
        ("RunAndJudge", {"zzz": 5}, r"no option c\.RunAndJudge\.zzz .* There are: answer_seconds, "),
        ("RunAndJudge", {"cell_seconds": "soon"}, r"cell_seconds is 'soon', and must be a float"),
        ("RunAndJudge", {"changed_arguments": "one grup"}, "Did you mean 'one group'"),
        ("Tutor", {"leval": "measured"}, r"no option c\.Tutor\.leval .* Did you mean level"),
        ("Tutor", {"level": "mesured"}, "one of 'full', 'measured', 'examples'. Did you mean 'measured'"),
        ("FeedbackExporter", {"fold": True}, "Did you mean fold_assignment|There are: fold_assignment"),
        ("MoodleExporter", {"identify_by": "name"}, "identify_by is 'name', and must be one of 'email'"),
        ("Tuter", {"level": "full"}, r"sets c\.Tuter, .* Did you mean c\.Tutor\?"),
        ("CSVFiles", {"decimal": "comma"}, r"Did you mean c\.CsvFiles\?"),
        ("CsvFiles", {"separator": ";"}, "is ';', and must be one of 'comma', 'semicolon', 'tab'"),
        ("CsvFiles", {"decimal": "comma"}, "Set c.CsvFiles.separator to 'semicolon'"),
    ],
)
def test_unknown_option_value_or_section_is_an_error(section, options, message):
    with pytest.raises(SettingsError, match=message):
        check_settings(Config({section: options}))


def test_config_lists_each_option_with_its_source(tmp_path, monkeypatch):
    (tmp_path / "nbgrader_config.py").write_text(
        "c = get_config()\nc.Execute.timeout = 7\nc.Tutor.level = 'measured'\n"
        "c.RunAndJudge.exposed_modules.append('a_course.plots')\n"
    )
    options = {option.name: option for option in options_in_force(tmp_path)}
    file = str(tmp_path / "nbgrader_config.py")
    assert options["c.Tutor.level"] == Option("c.Tutor.level", "measured", "full", file)
    assert options["c.RunAndJudge.exposed_modules"].value == ["a_course.plots"]
    assert options["c.RunAndJudge.cell_seconds"].value == 7
    assert options["c.RunAndJudge.cell_seconds"].source == "c.Execute.timeout"
    assert options["c.CsvFiles.decimal"].source == "default"
    assert len(options) == sum(len(options_of(section)) for section in SECTIONS)
    # The command prints the level in a class.
    (tmp_path / "source").mkdir()
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()\n")
    monkeypatch.chdir(tmp_path)
    assert "c.Tutor.level = 'measured'  # default in a class" in CliRunner().invoke(app, ["config"]).output
    assert CliRunner().invoke(app, ["config", "--changed"]).output == ""


def test_course_without_nbjudge_is_not_graded(tmp_path, monkeypatch):
    root = make_old_course(tmp_path, "c = get_config()\n")
    shutil.copytree(root / "source" / "week1", root / "submitted" / "ann" / "week1")
    monkeypatch.chdir(root)
    result = CliRunner().invoke(app, ["grade", "week1"])
    assert result.exit_code != 0
    assert "run `nbjudge init` there" in " ".join(str(result.exception or result.output).split())


@pytest.mark.parametrize(
    "section", [each for each in SECTIONS if each.plugin], ids=lambda each: each.config_name
)
def test_plugin_has_the_options_of_its_section(section):
    plugin = import_item(section.plugin)
    assert issubclass(plugin, section) and plugin.__name__ == section.config_name


@pytest.fixture
def kernelspec(tmp_path, monkeypatch):
    """A kernelspec that says it runs R, and runs Python's kernel."""
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (tmp_path / "kernels" / "not-python").mkdir(parents=True)
    spec = {"argv": argv, "display_name": "R", "language": "R"}
    (tmp_path / "kernels" / "not-python" / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))


def test_another_language_runs_without_a_sandbox_only(kernelspec, tmp_path):
    with pytest.raises(SandboxError, match=r"'not-python' runs R: .*--RunAndJudge\.sandbox=False"):
        refuse_other_languages("not-python")
    for name in ("python", "python2", "Python 3.9"):  # the sandbox's own Python by another name
        refuse_other_languages(name)
    cell = nbformat.v4.new_code_cell("1 + 1")
    with open_kernel(tmp_path, KernelEnvironment("not-python", sandbox=False)) as kernel:
        assert kernel.run_cell(cell) == "done"
    assert cell.outputs[0].data["text/plain"] == "2"


@pytest.mark.parametrize("sandbox", [True, False])
def test_missing_kernel_names_the_setting(tmp_path, sandbox):
    setting = r"c\.RunAndJudge\.kernel_names = \{'rt_grader': 'python3'\}"
    with pytest.raises(SandboxError, match=f"no kernel 'rt_grader' on this machine: .*{setting}"):
        start_process(tmp_path, KernelEnvironment("rt_grader", sandbox=sandbox))
