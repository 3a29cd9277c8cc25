"""Packages whose components spaCy finds only after an import: they register no entry point."""

from importlib import import_module
from pathlib import Path

from spacy import util

from ..errors import TermlinkError

#: Beginning of a factory's name -> module that registers it, and the package to install for it.
NEIGHBOURS = {
    "negex": ("negspacy.negation", "negspacy"),
    "medspacy_": ("medspacy", "medspacy"),
    "abbreviation_detector": ("scispacy.abbreviation", "scispacy"),
    "hyponym_detector": ("scispacy.hyponym_detector", "scispacy"),
    "scispacy_linker": ("scispacy.linking", "scispacy"),
}


def import_neighbours(path: str) -> None:
    """Import what registers the components of a saved pipeline, as its user's own code does: a
    command line has no place for `import negspacy.negation`.

    path (str): Folder or installed package of a pipeline; what is neither is left to `spacy.load`.
    RAISES (TermlinkError): TL730 if the package that a component comes from is not installed.
    """
    for name, factory in _factories(path):
        for beginning, (module, package) in NEIGHBOURS.items():
            if factory.startswith(beginning):
                try:
                    import_module(module)
                except ModuleNotFoundError as error:
                    raise TermlinkError(
                        "TL730", path=path, name=name, factory=factory, package=package
                    ) from error


def _factories(path: str) -> list[tuple[str, str]]:
    """Name and factory of each component; none where no config is found."""
    if util.is_package(path):
        configs = sorted(util.get_package_path(path).glob("*/config.cfg"))
    else:
        configs = [Path(path) / "config.cfg"]
    components = [
        component
        for config in configs
        if config.is_file()
        for component in util.load_config(config).get("components", {}).items()
    ]
    return [(name, settings.get("factory", "")) for name, settings in components]
