"""What may be remembered of what a model or a user proposes: nothing invented, secret, or somebody else's.

Only what the user said in his own words counts as said: neither quoted lines, nor blocks of code, nor documents.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from echo_core.memories import MAX_MEMORY_CHARS, Fact
from echo_memory.lexical import words_of

#: Why something is not remembered.
Refusal: TypeAlias = Literal["secret", "not_said", "other_person", "instruction", "too_long", "empty"]

#: The share of what a memory says that must stand in the user's own words. Source: our choice; a sentence that is put
#: into the third person keeps its names and values.
_SAID_SHARE: Final = 0.6

_QUOTED_LINE: Final = re.compile(r"^\s*(?:>|\|).*$", re.MULTILINE)
_FENCED: Final = re.compile(r"(?:```|~~~).*?(?:```|~~~|\Z)", re.DOTALL)
_ARTIFACT: Final = re.compile(r"<(?:artifact|document|context|file)\b.*?(?:</(?:artifact|document|context|file)>|\Z)",
                              re.DOTALL | re.IGNORECASE)  # fmt: skip
#: Longer words of one's own are a text that was pasted. Source: our choice.
_MOST_OWN_CHARS: Final = 4_000

#: Forms of well-known secrets. Source: the providers' documentation of their keys; RFC 7468 (PEM), RFC 7519 (JWT).
_SECRETS: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}"),
    re.compile(r"\bAIza[A-Za-z0-9_-]{20,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"),
    re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    re.compile(
        r"\b(?:password|passwd|passphrase|passcode|pin(?:\s*code)?|mot\s+de\s+passe|mdp|code\s+secret|secret\s+key|"
        r"clé\s+(?:secrète|api)|api[\s_-]*key|access[\s_-]*token|jeton\s+d.accès|cvv|cvc|digicode)\b"
        r"[^.\n]{0,30}?(?:\bis\b|\best\b|=|:)\s*\S",
        re.IGNORECASE,
    ),
)
_IBAN: Final = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{4}){3,7}(?:\s?[A-Z0-9]{1,3})?\b")
_LONG_NUMBER: Final = re.compile(r"(?<![\d.,])(?:\d[ -]?){12,18}\d(?![\d.,])")
_SOCIAL_SECURITY: Final = re.compile(
    r"\b[12]\s?\d{2}\s?(?:0[1-9]|1[0-2])\s?\d{2}\s?\d{3}\s?\d{3}(?:\s?\d{2})?\b|\b\d{3}-\d{2}-\d{4}\b"
)

_CONTACT: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+|(?<!\d)(?:\+|00)?\d(?:[ .()-]?\d){8,13}(?!\d)")
_PRIVATE: Final = re.compile(
    r"\b(?:cancer|hiv|vih|pregnan\w*|enceinte|depress\w*|dépress\w*|diagnos\w*|disease|maladie|divorc\w*|salary|salaire|"
    r"arrest\w*|affair|liaison|religio\w*|syndicat|union\s+member|homosexu\w*|gay|lesbian\w*)\b",
    re.IGNORECASE,
)
_OWN: Final = re.compile(
    r"\b(?:i|my|me|mine|our|we|user(?:'s)?|je|j|mon|ma|mes|moi|notre|nos|nous|utilisateur|utilisatrice)\b",
    re.IGNORECASE,
)
_OTHERS: Final = re.compile(
    r"\b(?:he|she|his|her|him|their|they|il|elle|sa|son|ses|leur|boss|colleague|neighbour|neighbor|friend|client|"
    r"customer|patient|employee|manager|chef|collègue|voisine?|amie?|cliente?|patiente?|salariée?)\b",
    re.IGNORECASE,
)
_INSTRUCTION: Final = re.compile(
    r"ignore\s+(?:all\s+|the\s+|any\s+)?(?:previous|prior|above|earlier)|ignorez?\s+(?:toutes\s+)?les\s+"
    r"(?:consignes|instructions)|system\s+prompt|prompt\s+système|disregard|you\s+(?:are\s+now|must\s+(?:send|forward|"
    r"reveal|exfiltrate))|jailbreak|</?\w+[^>]*>|exfiltrat|(?:send|forward|envoie|transmets)\b.{0,60}(?:https?://|@)",
    re.IGNORECASE,
)


def own_words(text: str) -> str:
    """What the user wrote himself in a message: without code, quotations, embedded documents and long pastes."""
    bare = _QUOTED_LINE.sub("", _FENCED.sub("", _ARTIFACT.sub("", text))).strip()
    if len(bare) <= _MOST_OWN_CHARS:
        return bare
    paragraphs = [part for part in bare.split("\n\n") if len(part) <= _MOST_OWN_CHARS // 4]
    return "\n\n".join(paragraphs[:1] + paragraphs[-1:]) if paragraphs else ""


def holds_secret(text: str) -> bool:
    """Whether a text holds a key, a password, a card or account number."""
    if any(pattern.search(text) for pattern in _SECRETS) or _SOCIAL_SECURITY.search(text):
        return True
    iban = _IBAN.search(text)
    if iban and _mod97(re.sub(r"\s", "", iban[0])):
        return True
    return any(_luhn(re.sub(r"\D", "", found)) for found in _LONG_NUMBER.findall(text))


def refusal(fact: Fact, said: Sequence[str] | None) -> Refusal | None:
    """Why a fact is not remembered; None when it may be.

    Args:
        fact: what is proposed.
        said: the user's own words that it must come from (`own_words`); None = the user wrote it himself.
    """
    text = f"{fact.text} {fact.topic} {fact.value}"
    if not fact.text.strip():
        return "empty"
    if len(fact.text) > MAX_MEMORY_CHARS:
        return "too_long"
    if holds_secret(text):
        return "secret"
    if said is None:
        return None
    if _INSTRUCTION.search(text):
        return "instruction"
    if _is_of_others(fact.text):
        return "other_person"
    return None if _was_said(fact, said) else "not_said"


def _is_of_others(text: str) -> bool:
    """Whether it tells how to reach somebody else, or something private of theirs."""
    sensitive = _CONTACT.search(text) or _PRIVATE.search(text)
    return bool(sensitive and (_OTHERS.search(text) or not _OWN.search(text)))


def _was_said(fact: Fact, said: Sequence[str]) -> bool:
    """Whether the value, and most of what the sentence says, stand in the user's words."""
    stems = frozenset().union(*(word for text in said for word in words_of(text)))
    value = words_of(fact.value)
    if value and not all(word & stems for word in value):
        return False
    told = [word for word in words_of(fact.text) if not word & _frame()]
    return bool(told) and sum(bool(word & stems) for word in told) >= _SAID_SHARE * len(told)


def _frame() -> frozenset[int]:
    """Words by which a sentence is put into the third person."""
    return frozenset().union(*words_of("user utilisateur utilisatrice wants likes prefers uses said says has veut dit"))


def _luhn(digits: str) -> bool:
    """Whether a number has the check digit of a payment card. Source: ISO/IEC 7812-1."""
    if not 13 <= len(digits) <= 19:
        return False
    doubled = [int(d) * (1 + place % 2) for place, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _mod97(iban: str) -> bool:
    """Whether a text has the check digits of an IBAN. Source: ISO 13616."""
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1
