"""A batch run: an input of notes through a pipeline to one output, on any number of processes."""

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ..errors import TermlinkError
from ..files import check_writable
from .core import find_linkers
from .fhir import bundle_class
from .inputs import NoteSource
from .omop_concepts import check_concepts
from .outputs import Finished, write_output, write_rejects
from .parts import Part, PartFolder, PartResult, cut_parts
from .pipelines import fingerprint, load_pipeline
from .workers import Worker, work_in_pool

OnPart = Callable[[int], Any]


class Summary(NamedTuple):
    """What a run did.

    n_annotated (int): Notes that went through the pipeline.
    n_rejected (int): Notes refused; each has a line in the reject file.
    n_mentions, n_nil (dict[str, int]): Rows, and rows that are NIL, per KB in pipeline order.
    assessed (bool): Whether a component assessed assertion.
    n_omop (Optional[int]): Rows with a concept of OMOP, None where they were not looked for.
    n_uncoded (Optional[int]): Linked rows whose id FHIR refuses as a code, None for another format.
    """

    n_annotated: int
    n_rejected: int
    n_mentions: dict[str, int]
    n_nil: dict[str, int]
    assessed: bool
    n_omop: Optional[int] = None
    n_uncoded: Optional[int] = None


def run_annotation(
    pipeline: Sequence[str],
    source: NoteSource,
    out: Path,
    *,
    format: str,  # noqa: A002
    rejects: Path,
    n_process: int = 1,
    resume: bool = False,
    omop_concepts: Optional[Path] = None,
    on_part: OnPart = lambda n: None,
) -> Summary:
    """Annotate an input and write the output and the reject file, each only when it is whole.

    Until then finished parts lie in `<out>.parts`, a folder beside the output. A run that is killed,
    at whatever moment, and resumed with the same input and settings writes what it would have
    written. The output does not depend on `n_process`.

    pipeline (Sequence[str]): KB folders, or one saved pipeline; see `load_pipeline`.
    source (NoteSource): The notes.
    out (Path): Output; one that exists is replaced at the end.
    format (str): One of `outputs.FORMATS`.
    rejects (Path): Reject file.
    n_process (int): Processes that annotate, of one thread each where there are several.
    resume (bool): Go on with the unfinished run of this output.
    omop_concepts (Optional[Path]): OMOP's CONCEPT.csv, for the format omop.
    on_part (OnPart): Called with the number of notes of each part done.
    RETURNS (Summary): Counts.
    RAISES (TermlinkError): TL002, TL004, TL006, TL008, TL809 to TL812, TL814, TL816, TL817, TL864 to TL867, and
            what the input or the pipeline raises.
    """
    _check_paths(source, out, rejects)
    if omop_concepts is not None:
        if format != "omop":
            raise TermlinkError("TL865", format=format)
        check_concepts(omop_concepts)
    if format == "fhir":
        bundle_class()  # that the library is missing must not show after the first part
    nlp = load_pipeline(pipeline)
    parts = PartFolder(out.with_name(f"{out.name}.parts"))
    with parts.hold():
        begun = parts.begin(_manifest(pipeline, source, format), resume=resume)
        try:
            results = _work(nlp, pipeline, source, parts, format, n_process, on_part)
        except TermlinkError:
            if not parts.finished():  # an input that cannot be read leaves nothing to resume
                parts.remove()
            raise
        linkers = find_linkers(nlp)
        summary = _summarise(results, [linker.kb for linker in linkers])
        run = Finished(parts, len(results), linkers, begun["date"], summary.assessed, omop_concepts)
        write_rejects(run, rejects)
        counted = write_output(run, out, format)
        parts.remove()
    field = {"omop": "n_omop", "fhir": "n_uncoded"}.get(format)
    return summary._replace(**{field: counted}) if field else summary


def _check_paths(source: NoteSource, out: Path, rejects: Path) -> None:
    """Refuse what would go wrong at the very end, when the files are renamed."""
    for path in (out, rejects):
        if path.is_dir():
            raise TermlinkError("TL008", path=path)
        check_writable(path)
    places = [Path(os.path.realpath(path)) for path in (source.path, out, rejects)]
    for place in places:
        if places.count(place) > 1:
            raise TermlinkError("TL814", path=place)
    if source.kind == "tables":  # the next run would read them as notes
        for place in places[1:]:
            if places[0] in place.parents:
                raise TermlinkError("TL866", path=place, folder=source.path)


def _manifest(pipeline: Sequence[str], source: NoteSource, format: str) -> dict[str, Any]:  # noqa: A002
    """What the parts depend on, but for the notes: each part has a digest of its own."""
    return {
        "pipeline": [fingerprint(path) for path in pipeline],
        "text_field": source.text_field,
        "id_field": source.id_field,
        "format": format,
        "date": date.today().isoformat(),
    }


def _work(
    nlp: Any, pipeline: Sequence[str], source: NoteSource, parts: PartFolder, format: str,  # noqa: A002
    n_process: int, on_part: OnPart,
) -> list[PartResult]:  # fmt: skip
    done = parts.finished()
    results: dict[int, PartResult] = {}

    def left() -> Iterator[Part]:
        for part in cut_parts(source.read()):
            if part.number not in done:
                yield part
            elif done[part.number].digest != part.digest:
                raise parts.differs(f"other notes (part {part.number} of the input has changed)")
            else:
                results[part.number] = done[part.number]
                on_part(part.n_items)

    worker = Worker(nlp, parts, format)
    made = (
        map(worker.work, left())
        if n_process == 1
        else work_in_pool(left(), worker, pipeline, n_process)
    )
    for result in made:
        results[result.number] = result
        on_part(result.n_annotated + result.n_rejected)
    if gone := set(done) - set(results):
        raise parts.differs(f"more notes (part {min(gone)} is beyond the end of the input)")
    return [results[number] for number in range(len(results))]


def _summarise(results: Sequence[PartResult], kbs: Sequence[str]) -> Summary:
    n_mentions = dict.fromkeys(kbs, 0)
    n_nil = dict.fromkeys(kbs, 0)
    for result in results:
        for total, counts in ((n_mentions, result.n_mentions), (n_nil, result.n_nil)):
            for kb, n in counts.items():
                total[kb] += n
    return Summary(
        sum(result.n_annotated for result in results),
        sum(result.n_rejected for result in results),
        n_mentions,
        n_nil,
        any(result.assessed for result in results),
    )
