"""Writes docs/commands.md from the commands' own help: `python docs/make_commands.py`."""

import os
from pathlib import Path

PAGE = Path(__file__).parent / "commands.md"
HEAD = """# Commands

One command per step. Written from their `--help` by `python docs/make_commands.py`; also available
as `python -m spacy termlink`. Every command ends with exit code 2 and one line on stderr where the
input is at fault.
"""


def make_page() -> str:
    """Help of `termlink` and of each command, as Markdown."""
    os.environ.update(COLUMNS="96", TERMINAL_WIDTH="96")
    from typer.testing import CliRunner

    from spacy_termlink.cli import COMMANDS, app

    sections = [HEAD]
    for name in (command.replace("_", "-") for command in COMMANDS):
        result = CliRunner().invoke(app, [name, "--help"], prog_name="termlink", terminal_width=96)
        sections.append(f"## termlink {name}\n\n```text\n{result.output.strip()}\n```\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf8")
