"""`termlink match`: concepts of one KB that are concepts of another, as SSSOM mappings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from ._common import keep_inputs, note, print_table, save_json

if TYPE_CHECKING:
    from ..kb import TermKB


def match_command(
    kb_a: Annotated[Path, typer.Argument(metavar="KB_A", help="KB whose concepts are looked for.")],
    kb_b: Annotated[Path, typer.Argument(metavar="KB_B", help="KB that is searched.")],
    out: Annotated[
        Optional[Path],
        typer.Option("--output", "-o", help="SSSOM file to write.", show_default="A-B.sssom.tsv"),
    ] = None,
    reference: Annotated[
        Optional[Path],
        typer.Option(help="Right pairs: SSSOM, OAEI alignment (rdf) or a tsv of two columns."),
    ] = None,
    mutual: Annotated[
        bool, typer.Option("--mutual", help="Only pairs in which each is the other's best.")
    ] = False,
    one_to_one: Annotated[
        bool,
        typer.Option(
            "--one-to-one",
            help="Each concept once, the sum of scores above the threshold greatest.",
        ),
    ] = False,
    threshold: Annotated[
        Optional[float],
        typer.Option(help="Least score of a pair.", min=0, max=1, show_default="KB_B's own"),
    ] = None,
    candidates: Annotated[
        str, typer.Option(help="exact, dense, ngram, hybrid or a registered generator.")
    ] = "hybrid",
    k: Annotated[int, typer.Option("-k", help="Concepts kept for each concept.", min=1)] = 10,
    structure: Annotated[
        float, typer.Option(help="Weight of matching parents in the score.", min=0, max=1)
    ] = 0.1,
    predicate: Annotated[
        Optional[list[str]],
        typer.Option(help="Of an SSSOM reference, only rows with this predicate_id; repeatable."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Judge only the concepts of A that the reference names."),
    ] = False,
    licence: Annotated[
        Optional[str], typer.Option(help="Address of the licence of the mappings.")
    ] = None,
    json: Annotated[
        Optional[Path], typer.Option(help="Write the figures to this file; - is stdout.")
    ] = None,
) -> None:
    """Look for the concepts of one KB in another, by all their names, and write SSSOM mappings."""
    from ..errors import TermlinkError
    from ..evaluation.alignments import pair_figures, rank_figures, read_reference
    from ..evaluation.matching import (
        add_structure,
        assigned_pairs,
        best_pairs,
        find_pairs,
        mutual_pairs,
    )
    from ..evaluation.sssom import NO_LICENCE, write_sssom
    from ..kb import open_kb

    if mutual and one_to_one:
        raise TermlinkError("TL958")
    if reference is None and (predicate or partial):
        raise TermlinkError("TL959", option="predicate" if predicate else "partial")
    a, b = open_kb(kb_a), open_kb(kb_b)
    out = out or Path(f"{a.name}-{b.name}.sssom.tsv")
    keep_inputs((reference,), (out, json))
    right = None
    if reference:
        right = read_reference(reference, a.terminology, b.terminology, predicates=predicate or ())
    least = b.score_threshold if threshold is None else threshold
    note(f"Searching {a.terminology.n_names:,} names of {a.name} in {b.name} ...")
    found = find_pairs(a, b, generator=candidates, k=k)
    found = add_structure(found, a.terminology, b.terminology, weight=structure)
    choose, choice = best_pairs, "best"
    if mutual or one_to_one:
        choose, choice = (mutual_pairs, "mutual") if mutual else (assigned_pairs, "one-to-one")
    pairs = choose(found, threshold=least)
    settings = {"candidates": candidates, "choice": choice, "threshold": least,
                "structure": structure, "k": k}  # fmt: skip
    write_sssom(
        out,
        pairs,
        a.terminology,
        b.terminology,
        licence=licence or NO_LICENCE,
        description=", ".join(f"{name} {value}" for name, value in settings.items()),
    )
    note(f"{out}: {len(pairs):,} mappings, {sum(p.is_lexical for p in pairs):,} of equal names")
    data = {**_about(a, b), **settings, "n_pairs": len(pairs)}
    if right:
        data["reference"] = {
            "set": str(reference),
            "n_pairs": len(right.pairs),
            "n_unknown_ids": len(right.unknown),
            "unknown_ids": right.unknown[:20],
            "partial": partial,
        }
        data["ranking"] = rank_figures(found, a.terminology, b.terminology, right)
        data["pairs"] = pair_figures(pairs, a.terminology, b.terminology, right, partial=partial)
    if right and not (json is not None and str(json) == "-"):
        _print(data)
    save_json(json, data)


def _about(a: "TermKB", b: "TermKB") -> dict[str, Any]:
    return {
        "kb_a": a.name,
        "release_a": a.release,
        "kb_b": b.name,
        "release_b": b.release,
    }


def _print(data: dict[str, Any]) -> None:
    ranking, pairs, reference = data["ranking"], data["pairs"], data["reference"]
    print(
        f"{reference['n_pairs']:,} pairs of {ranking['n']:,} concepts of {data['kb_a']} in "
        f"{reference['set']}; {data['n_pairs']:,} pairs proposed"
    )
    rows = [
        (name, f"{figures[name]:.4f}", "[{:.4f}, {:.4f}]".format(*figures["ci"][name]))
        for figures in (ranking, pairs)
        for name in figures["ci"]
    ]
    print_table(("", "", "95 % interval"), rows)
    if unknown := reference["unknown_ids"]:
        print(
            f"{reference['n_unknown_ids']:,} ids that the KBs lack ({', '.join(unknown[:5])}, ...): "
            "their pairs count as missed."
        )
