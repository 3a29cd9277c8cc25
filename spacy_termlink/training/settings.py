"""The settings of a training run: what a config file may say, with its defaults and checks."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, Optional, TypeVar, Union, get_args, get_origin

from ..errors import TermlinkError
from .losses import Loss

Settings = TypeVar("Settings")
#: A test of a value, and what it says is expected.
Rule = tuple[Callable[[Any], bool], str]

AT_LEAST_0: Rule = (lambda value: value >= 0, "a number, 0 or more")
AT_LEAST_1: Rule = (lambda value: value >= 1, "a whole number, 1 or more")
ABOVE_0: Rule = (lambda value: value > 0, "a number above 0")
SHARE: Rule = (lambda value: 0 <= value <= 1, "a share from 0 to 1")


def setting(default: Any = MISSING, rule: Optional[Rule] = None) -> Any:
    """A field of a settings class, with the rule its value must meet."""
    return field(default=default, metadata={"rule": rule} if rule else {})


@dataclass(frozen=True)
class ModelSettings:
    """[training.model]: where training starts, and what a text becomes.

    encoder (str): Encoder folder, or a Hugging Face name in the local cache; "" with a section
        [training.model.new], which builds one.
    pooling (str): "mean" or "cls"; "encoder" keeps the encoder's own.
    max_length (int): Tokens kept of a text in training, special tokens included. The saved encoder
        keeps its own maximum.
    average_with_start (float): Share of the initial weights in the saved ones: 0.5 is the mean of
        both, which keeps what the encoder knew of real language; 0 saves the trained weights.
    """

    encoder: str = ""
    pooling: Literal["encoder", "mean", "cls"] = "encoder"
    max_length: int = setting(32, (lambda value: value >= 4, "a whole number, 4 or more"))
    average_with_start: float = setting(0.0, SHARE)


@dataclass(frozen=True)
class OptimizerSettings:
    """[training.optimizer]: AdamW, with linear warm-up and linear decay to 0.

    learning_rate (float): The highest rate, at the end of the warm-up.
    warmup_steps (int): Steps of the warm-up.
    weight_decay (float): On matrices; biases and norms have none.
    clip (float): Longest gradient; 0 clips none.
    """

    learning_rate: float = setting(2e-5, ABOVE_0)
    warmup_steps: int = setting(100, AT_LEAST_0)
    weight_decay: float = setting(0.01, AT_LEAST_0)
    clip: float = setting(1.0, AT_LEAST_0)


@dataclass(frozen=True)
class RefreshSettings:
    """[training.refresh]: hard positives and hard negatives, searched with the current weights.

    every (int): Steps between two refreshes (R of CODER++).
    positives (int): Hard positives kept of an anchor (k).
    negatives (int): Hard negatives kept of an anchor: the nearest names of other concepts (m).
    choose (str): Positives: the "hardest" (farthest), or "random" ones.
    dynamic (bool): False searches once, before the first step, and keeps what it found.
    pool (int): Names that take part, whole concepts, redrawn at each refresh; 0 is all.
    index (str): Index spec of the search, as `termlink index --index`. IVF is built in seconds; "auto"
        may take HNSW, which takes minutes.
    """

    every: int = setting(500, AT_LEAST_1)
    positives: int = setting(30, AT_LEAST_0)
    negatives: int = setting(30, AT_LEAST_1)
    choose: Literal["hardest", "random"] = "hardest"
    dynamic: bool = True
    pool: int = setting(0, AT_LEAST_0)
    index: str = "IVF"


@dataclass(frozen=True)
class DevSettings:
    """[training.dev]: the score that says which weights are the best.

    mentions (str): A mentions.jsonl; "" is the heldout.jsonl beside the records.
    split (str): Mentions of this split only; "" is all.
    every (int): Steps between two scores; 0 never scores, and the last weights are saved.
    patience (int): Scores in a row without a better one after which training stops; 0 never stops.
    """

    mentions: str = ""
    split: str = "dev"
    every: int = setting(0, AT_LEAST_0)
    patience: int = setting(0, AT_LEAST_0)


@dataclass(frozen=True)
class TaskSettings:
    """[training.tasks.NAME]: how the records of one mining task are trained on. The task "names"
    takes its anchors from names.jsonl, and its pairs from the refresh.

    loss (Loss): Block [training.tasks.NAME.loss] with `@losses`.
    weight (Optional[float]): Share of the training texts, relative to the other tasks; without it
        the weight of mining.
    batch_size (int): Anchors in a batch.
    negatives (str): "batch" opposes an anchor to every other column that may be one; "record" only
        to the record's own negative and its hard negatives.
    hard_positives, hard_negatives (int): Drawn for each anchor from what the refresh found.
    normalize (bool): Give the loss embeddings of length 1, as a KB compares them.
    """

    loss: Loss
    weight: Optional[float] = setting(None, (lambda v: v is None or v > 0, "a number above 0"))
    batch_size: int = setting(64, AT_LEAST_1)
    negatives: Literal["batch", "record"] = "batch"
    hard_positives: int = setting(0, AT_LEAST_0)
    hard_negatives: int = setting(0, AT_LEAST_0)
    normalize: bool = False


@dataclass(frozen=True, kw_only=True)
class LoopSettings:
    """The run itself: what a section has whatever is trained.

    seed (int): Of every random choice.
    max_steps (int): Updates of the weights.
    accumulate (int): Batches whose gradients make one update.
    precision (str): "auto" is bfloat16 where the processor multiplies it, else float32.
    device (str): "auto" is a GPU where there is one.
    checkpoint_every (int): Steps between two checkpoints; 0 writes none.
    log_every (int): Steps between two lines of log.jsonl.
    tensorboard (bool): Log for TensorBoard too, where it is installed.
    """

    seed: int = 0
    max_steps: int = setting(1000, AT_LEAST_1)
    accumulate: int = setting(1, AT_LEAST_1)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    checkpoint_every: int = setting(200, AT_LEAST_0)
    log_every: int = setting(20, AT_LEAST_1)
    tensorboard: bool = False


@dataclass(frozen=True, kw_only=True)
class RunSettings(LoopSettings):
    """[training]: the run itself, see LoopSettings, and what is trained on.

    records (str): Records file of `termlink mine`; the files beside it are read too.
    chunk_tokens (int): A batch of more tokens is encoded in chunks with gradient caching, so that
        memory does not limit it; 0 always encodes a batch at once.
    """

    records: str = setting()
    chunk_tokens: int = setting(0, AT_LEAST_0)


@dataclass(frozen=True)
class TrainingConfig:
    """A checked config.

    run, model, optimizer, dev: The sections.
    refresh (Optional[RefreshSettings]): None without a section [training.refresh].
    tasks (dict[str, TaskSettings]): By name, sorted.
    new (Optional[Any]): `new_encoder.NewEncoderSettings`, None without a section [training.model.new].
    raw (dict): The section [training] as given, overrides included.
    """

    run: RunSettings
    model: ModelSettings
    optimizer: OptimizerSettings
    dev: DevSettings
    refresh: Optional[RefreshSettings]
    tasks: dict[str, TaskSettings]
    raw: dict[str, Any]
    new: Optional[Any] = None


def read_settings(kind: type[Settings], values: Any, where: str) -> Settings:
    """Check the values of one section.

    kind (type): A settings class of this module.
    values (Any): What the config has there.
    where (str): Name of the section, for the message.
    RAISES (TermlinkError): TL411 with the field, the value and what is expected.
    """
    check(isinstance(values, Mapping), where, values, "a section")
    known = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        check(name in known, f"{where}.{name}", value, f"one of the settings {', '.join(known)}")
        expected = _expected(known[name].type)
        rule = known[name].metadata.get("rule")
        check(
            _fits(value, known[name].type), f"{where}.{name}", value, rule[1] if rule else expected
        )
        check(rule is None or rule[0](value), f"{where}.{name}", value, rule[1] if rule else "")
    for name, each in known.items():
        missing = each.default is MISSING and name not in values
        check(not missing, f"{where}.{name}", None, "a value, it has no default")
    return kind(**values)


def check(good: bool, field_name: str, value: object, expected: str) -> None:
    """Refuse a value of a training config.

    RAISES (TermlinkError): TL411.
    """
    if not good:
        raise TermlinkError("TL411", field=field_name, value=value, expected=expected)


def _fits(value: Any, expected: Any) -> bool:
    if get_origin(expected) is Literal:
        return value in get_args(expected)
    if get_origin(expected) is list:
        return isinstance(value, list) and all(_fits(each, *get_args(expected)) for each in value)
    if get_origin(expected) is Union:
        return any(_fits(value, part) for part in get_args(expected))
    if expected is Loss:
        return callable(value)
    if expected in (int, float) and isinstance(value, bool):
        return False
    if expected is float:
        return isinstance(value, (int, float))
    return isinstance(value, expected)


def _expected(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if get_origin(kind) is list:
        return "a list"
    names = {bool: "true or false", str: "a text in quotes", int: "a whole number"}
    return names.get(kind, "a number")
