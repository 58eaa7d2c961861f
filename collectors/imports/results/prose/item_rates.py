"""Reads rates of items other than tokens and requests in sentences: 'we are able to run ~13 videos/min'."""

from __future__ import annotations

import re

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.number_text import ABOUT, StatedNumber
from collectors.imports.results.prose.paragraphs import read_paragraphs
from collectors.imports.results.prose.running_text import running_text, sentences_of
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.stated_figures import MAX_NAME_CHARS, add_stated
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.unmeasured import is_hypothetical, is_unmeasured

_MENTION = re.compile(r"/ ?(?:s|min|h)|per (?:s|min|h)|an hour|a (?:second|minute)", re.IGNORECASE)
_RATE = re.compile(
    r"\b(?:able to (?:run|process|handle|serve|do|get|reach|generate|transcribe|describe|caption|classify|embed"
    r"|translate|index)|gets?|getting|got|reach(?:es|ed)?|achiev(?:es?|ed)|sustain(?:s|ed)?|process(?:es|ed)"
    rf"|handl(?:es|ed))\b[^.,;:!?\d()]{{0,30}}?(?<![\w.]){ABOUT} ?(?P<number>\d{{1,9}}(?:,\d{{3}})*(?:\.\d{{1,9}})?)"
    r" ?(?P<items>[a-z]{3,20}s)(?: ?/ ?| per | an? )(?P<span>s(?:ec(?:ond)?)?|min(?:ute)?|h(?:(?:ou)?r)?)\b",
    re.IGNORECASE,
)
_OTHER_ITEMS = re.compile(
    r"tok(?:en)?s|req(?:uest)?s|queries|quer(?:y|ie)s|\w*bytes|\w*bits|dollars|cents|credits|watts|joules"
)
_OF_OTHERS = re.compile(r"\b(?:you|they|would|could|should|if)\b", re.IGNORECASE)
_SPANS = {"s": "s", "m": "min", "h": "h"}


def add_item_rates(load: LoadBuilder, text: str, sections: Sections) -> None:
    """Add such rates under their own unit; what nobody measured is none."""
    lines = [running_text(line) if _MENTION.search(line) else line for line in text.splitlines()]
    for paragraph in read_paragraphs(lines):
        if not _MENTION.search(paragraph.text):
            continue
        for start, sentence in sentences_of(paragraph.text):
            for match in () if is_hypothetical(sentence) else _RATE.finditer(sentence):
                before = sentence[: match.start("number")]
                is_other = _OTHER_ITEMS.fullmatch(match["items"].lower()) or _OF_OTHERS.search(before)
                if is_other or is_unmeasured(before, None, sentence, match.end(), match.end()):
                    continue
                line = paragraph.line_at(start + match.start("number"))
                name = f"{sections.prefix_of(line)}{sentence.strip()[:MAX_NAME_CHARS]} (line {line})"
                number = float(match["number"].replace(",", ""))
                value = StatedNumber(number, None, None, None, None, match["about"] is not None)
                unit = f"{match['items'].lower()}/{_SPANS[match['span'][0].lower()]}"
                add_stated(load, point_of_words(name, sentence), value, STATED, 1.0, unit, STATED)
