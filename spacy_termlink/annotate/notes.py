"""A note, and why one can be refused: refused notes are reported, never dropped in silence."""

from typing import Any, NamedTuple, Optional, Union

#: Why a note was not annotated. The reject file holds the code, never a word of the note.
REJECT_CODES = {
    "not_utf8": "the bytes are not UTF-8",
    "broken_json": "the line is not JSON",
    "not_an_object": "the line is JSON, but not an object",
    "broken_row": "the csv row cannot be read or has other columns than the header",
    "missing_id": "no id",
    "id_not_text": "the id is neither text nor a whole number",
    "duplicate_id": "an earlier note has the same id",
    "missing_text": "no text",
    "text_not_string": "the text is not a string",
    "nul_byte": "the text or the id holds a NUL",
    "surrogate": "the text or the id holds half of a surrogate pair",
    "too_long": "the text is longer than the pipeline's max_length",
    "run_of_signs": "more than 2,000 signs in a row without a letter, digit or blank",
    "long_word": "signs in or around words of thousands of characters without a blank would take the "
    "tokenizer too long",
    "component_failed": "a component of the pipeline raised an error on this note",
    "offsets_shifted": "the pipeline's text is not the note's, so its offsets would be wrong",
}


class Note(NamedTuple):
    """A note to annotate.

    line (int): Line, row or file number in the input, from 1.
    note_id (str): Its id.
    text (str): Its text, character for character as given.
    """

    line: int
    note_id: str
    text: str


class Reject(NamedTuple):
    """A note that was not annotated.

    line (int): Line, row or file number in the input, from 1.
    note_id (Optional[str]): Its id, None where it has no usable one.
    code (str): One of REJECT_CODES.
    component (Optional[str]): The component that failed.
    error (Optional[str]): Type of the exception, without its message: that could quote the note.
    """

    line: int
    note_id: Optional[str]
    code: str
    component: Optional[str] = None
    error: Optional[str] = None


def check_note(line: int, note_id: Any, text: Any) -> Union[Note, Reject]:
    """A note of raw values, or why it is none; numbers become ids as they are written."""
    if isinstance(note_id, int) and not isinstance(note_id, bool):
        note_id = str(note_id)
    if note_id is None or note_id == "":
        return Reject(line, None, "missing_id")
    if not isinstance(note_id, str):
        return Reject(line, None, "id_not_text")
    if bad := bad_characters(note_id):
        return Reject(line, None, bad)
    if text is None:
        return Reject(line, note_id, "missing_text")
    if not isinstance(text, str):
        return Reject(line, note_id, "text_not_string")
    if bad := bad_characters(text):
        return Reject(line, note_id, bad)
    return Note(line, note_id, text)


def bad_characters(text: str) -> Optional[str]:
    """Code of what makes a string unfit for a text file, None if nothing does."""
    if "\0" in text:
        return "nul_byte"
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return "surrogate"
    return None
