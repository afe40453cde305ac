"""The configuration of a course: what `configure` sets, and its files, read and checked for mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_config_path
from traitlets import Enum, Integer, TraitError
from traitlets.config import Config, Configurable
from traitlets.config.loader import JSONFileConfigLoader, LazyConfigValue, PyFileConfigLoader
from traitlets.utils.importstring import import_item

from nbjudge.errors import CourseError, SettingsError
from nbjudge.settings import SECTIONS, CsvSettings, GradingSettings, Section, execute_option

CONFIG_FILE = "nbgrader_config.py"
_LOADERS = {CONFIG_FILE: PyFileConfigLoader, "nbgrader_config.json": JSONFileConfigLoader}
DEFAULT = "default"
LEVEL_BY_DEFAULT = f"{DEFAULT} in a class; 'full' where a learner has the course's folder"
# Names as alike as these are one misspelt word, not two words.
SIMILARITY_OF_SECTIONS = 0.8

# What nbgrader runs over a submission by default, with its own two steps exchanged. They are named, not
# imported: code that only wants to know where the folders are need not wait for them.
SANITIZE = ("nbgrader.preprocessors.OverwriteKernelspec", "nbjudge.nbgrader_hooks.CheckMetadata")
AUTOGRADE = (
    "nbgrader.preprocessors.IgnorePattern",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbjudge.nbgrader_hooks.CheckMetadata",
)
MERGE, RUN = "nbjudge.nbgrader_hooks.MergeSubmission", "nbjudge.nbgrader_hooks.RunAndJudge"
LATE_POLICY = "nbjudge.nbgrader_hooks.late_policy.LatePolicy"
# By the last word of their names: done by this package's own two steps.
REPLACED = ("ClearOutput", "DeduplicateIds", "OverwriteCells", "Execute", "ClearMetadataPreprocessor")


@dataclass(frozen=True)
class Option:
    """One option that is in force."""

    name: str  #: as in nbgrader_config.py, such as `c.RunAndJudge.cell_seconds`
    value: Any
    default: Any
    source: str  #: the file that sets it, or a text that begins with "default"


def configure(config: Any) -> None:
    """Have a course's submissions graded in the sandbox, judged from outside, and fed back without scripts.

    Preprocessors of the course's own stay, in their order, behind the step that this package puts first. Call
    it last, or set what you want otherwise after it.

    Parameters
    ----------
    config
        The configuration that `get_config()` returns.

    Examples
    --------
    >>> from traitlets.config import Config
    >>> from nbjudge import configure
    >>> c = Config()
    >>> configure(c)
    >>> c.GenerateFeedback.exporter_class
    'nbjudge.feedback.FeedbackExporter'
    """
    autograde = config.Autograde
    autograde.exporter_class = "nbjudge.nbgrader_hooks.SubmissionExporter"
    autograde.sanitize_preprocessors = _with_first(MERGE, autograde.get("sanitize_preprocessors"), SANITIZE)
    autograde.autograde_preprocessors = _with_first(RUN, autograde.get("autograde_preprocessors"), AUTOGRADE)
    config.GenerateFeedback.exporter_class = "nbjudge.feedback.FeedbackExporter"
    if "plugin_class" not in config.AssignLatePenalties:
        config.AssignLatePenalties.plugin_class = LATE_POLICY
    if "collector_plugin" not in config.ZipCollectApp:
        config.ZipCollectApp.collector_plugin = "nbjudge.nbgrader_hooks.platform_archives.PlatformArchives"


def require_own_step(config: Config, root: Path) -> None:
    """Raise CourseError where nbgrader would run the submissions of a course itself, or not at all."""
    steps = config.Autograde.get("autograde_preprocessors")
    if not isinstance(steps, list) or _last_word(RUN) not in map(_last_word, steps):
        raise CourseError(
            f"nbgrader is not told to grade with nbjudge in {root}: run `nbjudge init` there, or call "
            f"`configure(c)` at the end of {CONFIG_FILE}."
        )


def has_late_penalties(config: Config) -> bool:
    """Return whether a course sets anything about late penalties; without that nbgrader takes none off."""
    steps = config.Autograde.get("autograde_preprocessors") or []
    is_there = any(_last_word(step) == "AssignLatePenalties" for step in steps)
    own = config.AssignLatePenalties.get("plugin_class", LATE_POLICY) != LATE_POLICY
    return is_there and (own or any(config.get(name) for name in ("LatePolicy", "LateSubmissionPlugin")))


def _with_first(first: str, chosen: Any, default: tuple[str, ...]) -> list[Any]:
    preprocessors = chosen if isinstance(chosen, list) else default
    return [
        first,
        *(
            preprocessor
            for preprocessor in preprocessors
            if preprocessor != first and _last_word(preprocessor) not in REPLACED
        ),
    ]


def _last_word(preprocessor: Any) -> str:
    name = preprocessor if isinstance(preprocessor, str) else preprocessor.__name__
    return str(name).rpartition(".")[2]


def read_config(root: Path) -> Config:
    """Read the settings of a course, as nbgrader itself would read them: all files merged.

    Raises CourseError if a file does not load, and SettingsError if it sets an option of nbjudge that
    does not exist, or a value that does not fit.
    """
    config = Config()
    for _, settings in config_files(root):
        config.merge(settings)
    check_settings(config)
    return config


def config_files(root: Path) -> list[tuple[Path, Config]]:
    """Read each configuration file of a course; the later ones take precedence."""
    files = []
    for folder in config_folders(root):
        for name, loader in _LOADERS.items():
            if not (folder / name).is_file():
                continue
            try:
                files.append((folder / name, loader(name, path=str(folder)).load_config()))
            except Exception as error:
                raise CourseError(
                    f"{folder / name} does not load: {type(error).__name__}: {error}"
                ) from error
    return files


def config_folders(root: Path) -> list[Path]:
    """List the folders in which Jupyter and nbgrader look for configuration files, the strongest one last."""
    return [*map(Path, reversed(jupyter_config_path())), root]


def check_settings(config: Config) -> None:
    """Raise SettingsError for the first option, value or section that nbjudge does not know."""
    sections = {each.config_name: each for each in SECTIONS}
    for name in config:
        if name not in sections and config[name]:
            _refuse_similar_section(name, sections)
    for name, section in sections.items():
        for option, value in config.get(name, {}).items():
            _check_option(section, option, value)
    csv = CsvSettings(config=config)
    if csv.separator == csv.decimal:
        raise SettingsError(
            "c.CsvFiles.separator and c.CsvFiles.decimal are both 'comma', so a number would be two fields. "
            "Set c.CsvFiles.separator to 'semicolon'."
        )


def options_in_force(root: Path) -> Iterator[Option]:
    """List every option of nbjudge with its value in a course; raises as `read_config` does."""
    config, files = read_config(root), config_files(root)
    for section in SECTIONS:
        settings = section(config=config)
        for option, trait in options_of(section).items():
            source, value = _source(files, section, option), getattr(settings, option)
            if option == "cell_seconds" and source == DEFAULT and execute_option(config, "timeout")[0]:
                value = GradingSettings(config=config).limits.cell
                source = f"{execute_option(config, 'timeout')[0]}"
            if option == "level" and source == DEFAULT:
                value, source = "measured", LEVEL_BY_DEFAULT
            yield Option(f"c.{section.config_name}.{option}", value, trait.default(), source)


def options_of(section: type[Section]) -> dict[str, Any]:
    """List the options that a section defines itself, in the order of its source."""
    traits = section.class_own_traits(config=True)
    return {name: traits[name] for name in vars(section) if name in traits}


def _source(files: Iterable[tuple[Path, Config]], section: type[Section], option: str) -> str:
    setting = [path for path, config in files if option in config.get(section.config_name, {})]
    return str(setting[-1]) if setting else DEFAULT


def _refuse_similar_section(name: str, sections: Iterable[str]) -> None:
    by_lower_case = {section.lower(): section for section in sections}
    near = get_close_matches(name.lower(), by_lower_case, 1, SIMILARITY_OF_SECTIONS)
    if near:
        raise SettingsError(
            f"nbgrader_config.py sets c.{name}, which neither nbgrader nor nbjudge reads. "
            f"Did you mean c.{by_lower_case[near[0]]}?"
        )


def _check_option(section: type[Section], option: str, value: Any) -> None:
    name = f"c.{section.config_name}.{option}"
    known = section.class_trait_names(config=True)
    if option not in known:
        # The class that nbgrader runs has options of nbgrader's and nbconvert's besides.
        plugin: type[Configurable] | None = import_item(section.plugin) if section.plugin else None
        if plugin is None or option not in plugin.class_trait_names(config=True):
            raise SettingsError(
                f"nbjudge has no option {name} (nbgrader_config.py or command line). "
                f"{suggestion(option, known)}"
            )
        return
    if isinstance(value, LazyConfigValue):  # such as `c.RunAndJudge.exposed_modules.append(...)`
        return
    try:
        section(config=Config({section.config_name: {option: value}}))
    except TraitError as error:
        required = _required_value(section.class_traits()[option], value)
        raise SettingsError(f"{name} is {value!r}, and must be {required}") from error


def _required_value(trait: Any, value: Any) -> str:
    if isinstance(trait, Enum):
        values = [str(each) for each in trait.values or ()]
        near = get_close_matches(str(value), values, 1)
        advice = f" Did you mean {near[0]!r}?" if near else ""
        return f"one of {', '.join(map(repr, values))}.{advice}"
    if isinstance(trait, Integer) and trait.min is not None:
        return f"an integer that is at least {trait.min}."
    return f"{trait.info()}."


def suggestion(name: str, known: Iterable[str]) -> str:
    """Advise which name was meant: the nearest one, or all that there are."""
    names = sorted(known)
    near = get_close_matches(name, names, 1)
    return f"Did you mean {near[0]}?" if near else f"There are: {', '.join(names) or 'none'}."
