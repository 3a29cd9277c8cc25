"""What the readers share: text and XML read safely, with errors that name the file and the line."""

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
from defusedxml import DefusedXmlException

from ...errors import TermlinkError
from ...files import require_file


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line, without its line end; a byte order mark is dropped.

    Only "\\n" and "\\r\\n" end a line: a name may hold the other characters that str.splitlines cuts at.
    RAISES (TermlinkError): TL108 for a line that is no UTF-8.
    """
    with require_file(path).open("rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            yield number, decode(line.rstrip(b"\r\n"), path, number)


def decode(line: bytes, path: Path, number: int) -> str:
    """A line as text.

    RAISES (TermlinkError): TL108 if it is no UTF-8.
    """
    try:
        return line.decode("utf8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 text ({error.reason} at byte {error.start} of the line)"
        raise TermlinkError("TL108", path=path, line=number, reason=reason) from None


def parse_xml(path: Path, *, format: str, roots: tuple[str, ...]) -> Element:
    """Root element of an XML file; entity declarations are refused, nothing outside is read.

    format (str): What the file should be, for the message.
    roots (tuple[str, ...]): Names that the root element may have.
    RAISES (TermlinkError): TL105 or TL108.
    """
    require_file(path)
    try:
        root = defusedxml.ElementTree.parse(path).getroot()
    except ParseError as error:
        line, column = error.position
        reason = f"not well-formed XML ({str(error).split(':')[0]}, column {column})"
        raise TermlinkError("TL108", path=path, line=line, reason=reason) from None
    except DefusedXmlException as error:
        reason = f"it declares entities, which are not read ({type(error).__name__})"
        raise TermlinkError("TL105", path=path, format=format, reason=reason) from None
    except (LookupError, ValueError) as error:  # an encoding that does not exist, or is wrong
        raise TermlinkError("TL105", path=path, format=format, reason=str(error)) from None
    if root is None or root.tag not in roots:
        found = "nothing" if root is None else f"<{root.tag}>"
        reason = f"its root is {found}, expected <{'> or <'.join(roots)}>"
        raise TermlinkError("TL105", path=path, format=format, reason=reason)
    return root


def squeeze(text: str | None) -> str:
    """Text with every run of white space made one space, none at the ends."""
    return " ".join((text or "").split())
