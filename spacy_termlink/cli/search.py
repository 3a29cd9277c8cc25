"""`termlink search`: the candidates of one text."""

from pathlib import Path
from typing import Annotated

import typer


def search_command(
    kb: Annotated[Path, typer.Argument(help="KB folder written by 'termlink index'.")],
    text: Annotated[str, typer.Argument(help="What to look for.")],
    k: Annotated[int, typer.Option("-k", help="Concepts to show.", min=1)] = 10,
    candidates: Annotated[
        str, typer.Option(help="exact, dense, ngram, hybrid or a registered generator.")
    ] = "hybrid",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
) -> None:
    """Show the concepts that a text may name, best first."""
    import srsly

    from ..errors import TermlinkError
    from ..kb import open_kb
    from ..rerank.mention_candidates import MentionCandidates
    from ._common import note, print_table

    if not any(char.isprintable() and not char.isspace() for char in text):
        raise TermlinkError("TL907")
    opened = open_kb(kb)
    reranker = opened.reranker if candidates == "hybrid" else None
    proposed = MentionCandidates(opened, opened.generator(candidates), reranker)
    [found] = proposed.generate([[text]], k=k)
    if as_json:
        print(srsly.json_dumps([candidate.to_json() for candidate in found], indent=2))
    elif found:
        rows: list[tuple[str, ...]] = [
            (c.concept_id, c.name, c.matched, c.kind, c.tier, f"{c.score:.4f}") for c in found
        ]
        header = ["id", "name", "matched", "kind", "tier", "score"]
        if found[0].probability is not None:
            rows = [(*row, f"{c.probability:.4f}") for row, c in zip(rows, found, strict=True)]
            header.append("probability")
        print_table(header, rows)
    else:
        note("nothing found")
