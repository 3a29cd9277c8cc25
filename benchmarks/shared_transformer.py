"""What linking adds to the time of a pipeline's transformer and NER, where the linker shares the transformer.

    python benchmarks/shared_transformer.py kb/hpo DOCS.jsonl [--transformer assets/fetched/minilm]

The NER listens to the same transformer and is not trained: after it, the gold entities of the documents take
the place of what it found, so that as many mentions are linked as a good NER finds. Beside it, for comparison,
the linker with an encoder of its own. Each figure is the best of --repeat runs over all documents, in turns;
building the vectors of the names comes before and is not timed. An idle machine is assumed.
"""

import argparse
import time
from pathlib import Path

import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_termlink.evaluation.mentions import AnnotatedDoc, read_docs

POOLING = {"@layers": "reduce_mean.v1"}
GOLD: dict[str, AnnotatedDoc] = {}


def main() -> None:
    """Run the benchmark."""
    args = parse_args()
    docs = read_docs(args.docs)[: args.n_docs]
    GOLD.update({doc.text: doc for doc in docs})
    nlp = make_pipeline(args, docs[0].text)
    for linker in ("shared", "own"):
        nlp(docs[0].text)
        nlp.get_pipe(linker).open_kb()
    variants = {"transformer, ner": ["shared", "own"], "+ shared linker": ["own"],
                "+ linker with its own encoder": ["shared"]}  # fmt: skip
    texts = [doc.text for doc in docs]
    best = dict.fromkeys(variants, float("inf"))
    for _ in range(args.repeat):
        for name, disabled in variants.items():
            best[name] = min(best[name], seconds(nlp, texts, disabled))
    base = best["transformer, ner"]
    n_mentions = sum(len(doc.ents) for doc in nlp.pipe(texts))
    print(f"{len(docs)} documents, {sum(map(len, texts)):,} characters, {n_mentions:,} mentions; "
          f"{args.transformer}, {torch.get_num_threads()} threads")  # fmt: skip
    for name, taken in best.items():
        print(f"{name:32} {taken:8.2f} s {100 * (taken / base - 1):+7.1f} %")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("kb", type=Path, help="KB folder")
    parser.add_argument("docs", type=Path, help="docs.jsonl with entities")
    parser.add_argument(
        "--transformer", default="assets/fetched/minilm", help="folder of a transformer"
    )
    parser.add_argument("--n-docs", type=int, default=100, help="documents (default 100)")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each variant (default 3)")
    return parser.parse_args()


@Language.component("gold_entities")
def gold_entities(doc: Doc) -> Doc:
    """Gold entities in place of what an untrained NER finds; of those that overlap, the longest."""
    entities = GOLD[doc.text].entities if doc.text in GOLD else ()
    spans = [doc.char_span(e.start, e.end, label="FINDING") for e in entities]
    doc.ents = spacy.util.filter_spans([span for span in spans if span is not None])
    return doc


def make_pipeline(args: argparse.Namespace, text: str) -> Language:
    nlp = spacy.blank("en")
    model = {
        "@architectures": "spacy-transformers.TransformerModel.v3",
        "name": args.transformer,
        "tokenizer_config": {"use_fast": True, "model_max_length": 512},
        "get_spans": {"@span_getters": "spacy-transformers.strided_spans.v1", "window": 128, "stride": 96},
    }  # fmt: skip
    nlp.add_pipe("transformer", config={"model": model})
    listener = {"@architectures": "spacy-transformers.TransformerListener.v1", "pooling": POOLING,
                "grad_factor": 1.0}  # fmt: skip
    nlp.add_pipe("ner", config={"model": {"tok2vec": listener}}).add_label("FINDING")
    nlp.add_pipe("gold_entities")
    ours = {"@architectures": "spacy-termlink.TransformerListener.v1", "pooling": POOLING}
    # the index of the KB itself, as in use: the Flat one of training is slower to search
    nlp.add_pipe(
        "term_linker",
        name="shared",
        config={"kb": str(args.kb), "model": ours, "learning": {"index": None}},
    )
    nlp.add_pipe("term_linker", name="own", config={"kb": str(args.kb), "overwrite": False})
    doc = nlp.make_doc(text)
    nlp.initialize(lambda: [Example(nlp.make_doc(text), doc)])
    return nlp


def seconds(nlp: Language, texts: list[str], disabled: list[str]) -> float:
    """Wall time over all documents. The linker with its own encoder keeps answers: they are forgotten."""
    answers = getattr(nlp.get_pipe("own")._generator, "answers", None)
    if answers is not None:
        answers.clear()
    with nlp.select_pipes(disable=disabled):
        start = time.perf_counter()
        for _ in nlp.pipe(texts, batch_size=32):
            pass
        return time.perf_counter() - start


if __name__ == "__main__":
    main()
