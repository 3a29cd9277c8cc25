"""Every message the package raises, one code each: what went wrong, the value found, what to do.

Codes by rank: TL0 files, TL1 terminology, TL2 text and lexical, TL3 encoders, TL4 training,
TL5 candidates and KB, TL6 rerank, TL7 pipeline, TL8 annotate, TL9 evaluation and command line.
"""

from typing import Any


class TermlinkError(ValueError):
    """Bad input, with one clear line. The command line prints it and exits with code 2.

    code (str): The message's code, as "TL001".
    """

    def __init__(self, code: str, **values: Any) -> None:
        self.code = code
        self.values = values
        super().__init__(f"[{code}] {MESSAGES[code].format(**values)}")

    def __reduce__(self) -> tuple:
        # worker processes send errors back: rebuild from the code and the values, not from the text
        return _rebuild, (type(self), self.code, self.values)


class MissingExtraError(TermlinkError, ImportError):
    """An optional library is missing; the message names the extra that installs it."""


def _rebuild(cls: type, code: str, values: dict) -> TermlinkError:
    return cls(code, **values)


MESSAGES = {
    # files
    "TL001": "No such file or folder: {path}.",
    "TL002": "{path} exists already and is no {kind}; it is left as it is. Choose another path.",
    "TL003": "{path} is not valid JSON ({reason}). Write the file again with the command that made it.",
    "TL004": "'{library}' is not installed. Install it with: pip install 'spacy-termlink[{extra}]'.",
    "TL005": "{path} is empty.",
    "TL006": "Could not write {path}: {reason}.",
    "TL007": "Checksum of {path} is {found}, expected {expected}. Fetch or build it again.",
    "TL008": "{path} is a folder, expected a file.",
    "TL009": "{name} is empty. Is a variable of the shell not set?",
    # terminology
    "TL101": "Concept id '{concept_id}' appears twice ({where}). Ids must be unique.",
    "TL102": "A concept is its own ancestor: {cycle}. Correct the is_a relations in the source.",
    "TL103": "{path} is not a terminology folder: {reason}. Make one with 'termlink convert'.",
    "TL104": "No reader for format '{format}'. Name one with --format. Formats: {known}.",
    "TL105": "{path} is not a {format} file: {reason}.",
    "TL106": "{path} holds no concept.",
    "TL107": "Unknown concept id '{concept_id}' in {terminology}.",
    "TL108": "{path}, line {line}: {reason}.",
    "TL109": "{path}: format version {found}, this release reads version {expected}. Convert the source again.",
    "TL110": "{where}: {reason}.",
    "TL111": "{path}, line {line}: no column '{column}'. It has: {found}.",
    "TL112": "Unknown source '{name}'. Sources: {known}.",
    "TL113": "Could not fetch {name}: {reason}. With a copy of your own: termlink fetch {name} --from FILE_OR_URL",
    "TL130": "{path} is not an OBO Graph: '{field}' is {found}, expected {expected}.",
    "TL140": "{path} is no {format} release: it has no {file}. Pass the folder or the zip that holds it.",
    "TL141": "{path}, {file}: {reason}.",
    "TL142": "{path} has no {option} '{value}'. It has: {known}.",
    "TL143": "The reader of format '{format}' has no option --{option}. Its options: {known}.",
    # calibration
    "TL610": "{path} is not a calibration of this release: {reason}. Run 'termlink calibrate' again.",
    "TL611": "{path}: the calibration was made for another {part} (fingerprint {found}, this KB has {expected}). Run 'termlink calibrate' again.",
    "TL612": "{n} mentions of {n_documents} documents with candidates, {n_right} of them right at the first place: too few to calibrate. At least {least} of {least_documents} documents are needed, {least_each} right and {least_each} wrong.",
    # T5 reranker
    "TL635": "The template '{template}' cannot be used: {reason}.",
    "TL636": "The question of the template '{template}' takes {n} tokens, and max_length is {max_length}: no room is left for mention and name. Shorten it, or raise max_length.",
    "TL637": "{path} cannot be loaded as a T5: {reason}.",
    "TL638": "The answers '{yes}' and '{no}' cannot be scored: {reason}. Choose others.",
    # rerankers
    "TL620": "'{name}' is neither a reranker's folder nor a registered reranker. Use kb, none, or a folder of 'termlink train-reranker'.",
    "TL621": "{path} is not a reranker of this release: {reason}. Train it again with 'termlink train-reranker'.",
    "TL622": "KB '{kb}' has no reranker. Train one with 'termlink train-reranker CFG -o DIR --into KB', or name a folder.",
    "TL623": "The sources of [reranker.data] ({names}) hold no mention in doubt to learn from: none is known to its KB, or each of them is a name. Name other mentions.",
    # pipeline
    "TL701": "Component '{name}' has no KB. Name its folder: config 'kb', or 'kb' in [initialize.components.{name}].",
    "TL702": "The licence of KB '{kb}' ({licence}) forbids passing it on, so '{name}' does not copy it. Set save_kb = \"path\", or allow_restricted = true if the copy stays with those who may hold it.",
    "TL703": "label_types of '{name}': '{value}' (label '{label}') is neither a concept id nor a semantic type of {kb}.",
    "TL704": "'{name}': {setting} must be {expected}, not {value!r}.",
    "TL705": "The KB at {path} is not the one '{name}' was saved with: fingerprint {found}, expected {expected}. Put the old one back, or set the new one with set_kb and save again.",
    "TL706": "The bytes of '{name}' name a file outside the KB folder: {path}.",
    "TL707": "'{name}' looks for mentions in doc.spans['{key}'], which the document lacks (it has: {found}). Set spans_key to the group your recogniser fills.",
    "TL708": "'{name}': {n} of its mentions share a token with a longer one and are left out. Put it before the components that annotate tokens, where it may cut them, or have the tokenizer split there.",
    "TL720": "'{name}': {n} of {total} gold links are of ids that KB '{kb}' does not know ({examples}); nothing is learned from them. Ids of several concepts in one, a corpus of another release, or ids without their prefix?",
    "TL721": "'{name}': get_loss was given {found} embeddings for a batch of {expected} texts. Encode those of training_texts.",
    "TL722": '\'{name}\' learns, but save_kb = "path" would save the path of the KB that it started from. Set save_kb to "copy" or "hardlink", or name the component in frozen_components.',
    "TL723": "'{name}': no gold link to learn from ({nil} are NIL, {unknown} unknown to KB '{kb}', {barred} not allowed by label_types); its encoder will stay as it is. Put concept ids of the KB into kb_id of the gold spans.",
    "TL730": "Pipeline {path}: its component '{name}' ({factory}) comes from the package {package}, which is not installed here. Install it.",
    "TL731": "'{name}': the names of {kb} were encoded with other weights than those of the pipeline's transformer (digest {found}, expected {expected}). Initialise or train the pipeline with the linker in it: that encodes the names again.",
    "TL732": "'{name}' reads doc._.trf_data, which a document lacks. Put a component 'transformer' of spacy-transformers before it.",
    "TL733": "'{name}' finds no transformer component of spacy-transformers in its pipeline. Add one before it, with the name that 'upstream' of its model says.",
    "TL734": "spacy-termlink.TransformerListener.v1 needs spacy-transformers. Install it with: pip install 'spacy-termlink[shared-transformer]'.",
    # annotate
    "TL801": "{path} is no input of notes. Pass .jsonl, .csv, .parquet, a folder of .txt, or - for jsonl on stdin.",
    "TL802": "{path} has no field {wanted} (found: {found}). Name it with {option}.",
    "TL803": "{path} holds no note{found}.",
    "TL804": "Cannot tell the format of {path}. Name it with --format: {known}.",
    "TL805": "{path} is neither a KB folder nor a spaCy pipeline ({reason}).",
    "TL806": "Pipeline {path} has no term_linker. Add one, or pass a KB folder.",
    "TL807": "Pass KB folders or one pipeline, not a mixture: {paths}.",
    "TL808": "Two KBs are called '{name}', and rows tell KBs apart by name. Build one of them into a folder of another name.",
    "TL809": "An unfinished run lies in {folder}. Go on with --resume, or delete that folder to start anew.",
    "TL810": "The unfinished run in {folder} was made with {difference}. Resume with what it began with, or delete that folder.",
    "TL811": "{what} failed with {error} at {where} (its message is withheld, it may hold note text).",
    "TL812": "A worker process died (out of memory?). What is done is kept: run again with --resume, with fewer processes.",
    "TL813": "{path} is not a Parquet file with text: {reason}.",
    "TL814": "{path} is named twice among input, output and reject file: one would overwrite the other.",
    "TL815": "{path} has two fields '{field}'. Rename one of them, or name another with {option}.",
    "TL816": "The manifest.json of the unfinished run in {folder} is damaged, so it cannot be told what that was begun with. Delete that folder to start anew.",
    "TL819": "{path} is one JSON value over all its lines, not jsonl: one object a line is wanted, as 'jq -c .[]' makes them of an array.",
    "TL818": "No KB folder and no pipeline is named.",
    "TL817": "Another process works on {folder}. Wait until it is done, or write another output.",
    "TL860": "The notes have no column '{name}' (found: {found}). Name the column of the {what} with {what}=.",
    "TL861": "Column '{field}' of the notes is there twice, or has the name of a column of the annotations. Rename it, or drop it.",
    "TL862": "Column '{name}' of the notes is {found}, and the {what} must be {wanted}. Cast it.",
    "TL863": "Ids that stand on more than one note: {n}. Rename them, or keep one note of each: rows are told apart by them.",
    "TL864": "{path} is not a vocabulary file of OMOP: {reason}. Pass CONCEPT.csv of a download from Athena.",
    "TL865": "--omop-concepts is for the format omop, and this is {format}. Leave it out, or write a .csv.",
    "TL866": "{path} would lie among the notes of {folder}, and be read as notes the next time. Write it elsewhere.",
    "TL867": "A mention does not go into FHIR: {place} is not valid there. Choose another format, or mend the id or name in the terminology.",
    # serve
    "TL850": "Cannot listen on {host}, port {port}: {reason}. Choose others with --host and --port.",
    "TL851": "The {what} is too long: at most {limit} {unit} are read.",
    "TL852": "No answer within {seconds} s. Send a shorter text, or serve with a longer --timeout.",
    "TL853": "Too many requests wait already ({n}). Try again in a moment.",
    "TL854": "No KB '{name}' is served here. There: {known}.",
    "TL855": "The text cannot be read: {reason}.",
    "TL856": "The request names another host than this machine. Serve with --host to be reached by name.",
    "TL858": "The request cannot be answered: {reason}.",
    "TL857": "The body of the request did not arrive within {seconds} s.",
    # text and lexical
    "TL201": "{path} is not a dictionary of names: {reason}. Build the KB again.",
    # mining
    "TL220": "{path}, line {line}: {reason}.",
    "TL221": "Two terminologies of the run have the source '{name}'. Convert one of them with another source name.",
    "TL222": "No terminology '{name}' in this run. There: {known}.",
    "TL223": "{field} is {value!r}, expected {expected}.",
    "TL224": "{path} holds no mention of split {split!r}.",
    "TL225": "{path} is not a mining config: {reason}.",
    "TL226": "{task}: no task '{name}' is registered. Known: {known}.",
    "TL227": "{task}: {reason}.",
    "TL228": "No task gave a record from {terminologies}. Check the kinds of names and the terminologies of the tasks.",
    # training
    "TL401": "{what} has shape {found}, expected {expected}.",
    "TL402": "{field} is {value!r}, expected {expected}.",
    "TL410": "{path} is not a training config: {reason}.",
    "TL411": "{field} is {value!r}, expected {expected}.",
    "TL412": "{task}: no loss '{name}' is registered. Known: {known}.",
    "TL413": "'{argument}' is no setting with a value. Write it with its section, as --training.max_steps 200 or --paths.kbs kb.",
    "TL414": "{task}: {reason}.",
    "TL415": "{path} holds no record of task '{task}'. Its tasks: {known}.",
    "TL416": "There is no checkpoint in {path} to resume from. Train without --resume.",
    "TL417": "The checkpoint {path} is damaged: {reason}. Delete {path} to go on from an earlier one, or train anew.",
    "TL418": "An unfinished run lies in {path}. Go on with --resume, or delete that folder to start anew.",
    "TL419": "The unfinished run in {path} was made with another {field}: {found!r}, now {value!r}. Resume with what it began with, or delete that folder.",
    "TL420": "TensorBoard is not installed. Install it with: pip install tensorboard; or set training.tensorboard to false.",
    "TL421": "The loss is {value} at step {step}. Lower {section}.optimizer.learning_rate.",
    "TL422": "{path}: no name for the task 'names' has another name of its concept.",
    "TL430": "{path} is a static encoder, which has no token to pool as '{pooling}'. Use its mean, or the encoder it was made of.",
    "TL431": "{paths}: no name is left to learn from. Check the terminologies and the names left out.",
    "TL432": "{path}: {n_layers} layers cannot be kept; a BERT of more layers is expected (this one says {found}). Choose fewer, or --kind static.",
    "TL433": "{path} is itself a static encoder; distil the transformer it was made of.",
    # evaluation and command line
    "TL901": "{path}, line {line}: {reason}.",
    "TL902": "{path} holds no mention with {field} '{value}'. Found there: {found}.",
    "TL903": "None of the documents given is one of the mentions' (their doc_id: {example}). Pass their own docs.jsonl.",
    "TL904": "{path} holds no mention to evaluate after the filters ({filters}).",
    "TL906": "{path} is an input of this command; it is left as it is. Choose another path for the output.",
    "TL907": "The text to look for is empty: it has no visible character.",
    "TL908": "{path}: document '{doc_id}' cannot be annotated: {reason}.",
    "TL909": "{path} is named for two outputs of this command: one would overwrite the other. Choose another path.",
    "TL955": "{path}, line {line}: {reason}.",
    "TL956": "{path} holds no pair of concepts (an SSSOM or plain tsv, or an OAEI alignment, and with --predicate rows of that predicate).",
    "TL957": "No pair of {path} is one of these KBs (the first: {example}). Are the KBs in the order of its columns?",
    "TL958": "Choose --mutual or --one-to-one, not both.",
    "TL959": "--{option} says how the pairs of a reference are read, and no --reference is given.",
    "TL905": "Gold and predicted documents differ: {difference}.",
    "TL920": "{first} and {second} are results on different mentions, which no paired test compares. Evaluate both on one set.",
    "TL940": "{path} has {n} names; clustering needs two at least. Pass another KB.",
    "TL941": "{path} has no two names that differ in one decisive word and are of sibling concepts. Pass another KB.",
    # corpora
    "TL980": "The name of {path} does not tell the format of a corpus. Name it with {option}: {known}.",
    "TL981": "{path}, document '{doc_id}', {place}: the text at {offsets} is not the mention's (the document has {length} characters). The mention is left out.",
    "TL982": "{path}, {place}: {reason}.",
    "TL983": "{path} holds no document.",
    "TL984": "Document '{doc_id}' cannot be written as {format}: {reason}.",
    # report
    "TL970": "{path} is not a report config: {reason}.",
    "TL971": "[report] names '{name}' in its {kind}, but there is no section [{kind}.{name}].",
    "TL972": "{where}: {reason}.",
    "TL973": "Nothing to report on. {reason}",
    # encoders
    "TL300": "'{name}' is neither an encoder folder nor a model in the local Hugging Face cache. Get one with 'termlink fetch minilm'.",
    "TL301": "{path} holds no safetensors file. Pickled weights are not read; save the model as safetensors.",
    "TL302": "{path}: {reason} is not supported; an encoder is a transformer with mean or CLS pooling.",
    "TL303": "{path} cannot be loaded as an encoder: {reason}.",
    # candidates and KB
    "TL501": "No candidate generator '{name}'. Known: {known}.",
    "TL509": "Mentions are a list of strings, not one {found}. For one mention: [mention].",
    "TL502": "The index spec '{spec}' cannot be used: {reason}. Use auto, Flat, HNSW, IVF, SQ8, PQ, IVF_SQ8, IVF_PQ or a Faiss factory string.",
    "TL503": "{path} is not a KB folder: {reason}. Make one with 'termlink index'.",
    "TL504": "{path}: KB format version {found}, this release reads version {expected}. Run 'termlink index' again.",
    "TL505": "{path} is damaged: {reason}. Run 'termlink index' again.",
    "TL506": "{path}: the encoder's fingerprint is {found}, the vectors were made with {expected}. Run 'termlink index' again.",
    "TL507": "{path}, line {line}: {reason}.",
    "TL508": "{path} has no name to look for: all its concepts are retired, or its names were left out.",
    "TL540": "An unfinished build lies in {folder}. Go on with --resume, or delete that folder to start anew.",
    "TL541": "The unfinished build in {folder} was begun with {field} {found}, now {value}. Resume with what it began with, or delete that folder.",
    "TL542": "{path} was built with another encoder: its {field} is {found}, now {expected}. Only vectors of the same encoder can be taken over; build without --update.",
    "TL543": "{path} holds its vectors only approximately (index {factory}), so a KB updated from it would answer otherwise than one built anew. Build without --update, and with --keep-vectors if it is to be updated later.",
    "TL544": "Pass --encoder, or --update with the KB whose encoder is to be used.",
    "TL545": "{old} and {new} have no concept id in common: are they releases of one terminology?",
    "TL546": "--memory is {value}, expected a number of gigabytes above 0.",
    "TL547": "Cannot tell the format of {path}. Name it .tsv or .jsonl.",
    "TL548": "{path} has no mention of split {split}, only of {found}. Names are added from what is not measured with; pass --add-names-split if they are to be taken.",
    "TL549": "{path} adds no name: of its mentions {unknown_ids} name an unknown concept, {no_single_concept} no or several concepts, and {no_text} have no text. Are the ids those of the terminology, with their prefix?",
    "TL530": "'{name}' is neither a folder, a file nor an installed spaCy pipeline with word vectors.",
    "TL531": "{path} cannot be read as word vectors: {reason}.",
    "TL532": "{path} holds no word vectors. Pipelines with vectors end in _md or _lg.",
}
