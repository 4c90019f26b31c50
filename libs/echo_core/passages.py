"""What is kept for semantic search, and what is found: frozen values without IO."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

#: The two collections. Source: docs/design.md sections 1 and 12.
CollectionName = Literal["echo_session_rag", "echo_meta_artifacts"]
SESSION_RAG: Final[CollectionName] = "echo_session_rag"
META_ARTIFACTS: Final[CollectionName] = "echo_meta_artifacts"
COLLECTIONS: Final[tuple[CollectionName, ...]] = (SESSION_RAG, META_ARTIFACTS)

#: One embedding, of length 1; shape (dimension,).
Vector: TypeAlias = Sequence[float]

#: What a passage may carry beside its text.
MetaValue: TypeAlias = str | int | float | bool

SearchMode = Literal["hybrid", "dense", "lexical"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """A model as the catalogue describes it.

    Args:
        name: the id that is recorded with a collection.
        dimension: numbers in one vector.
        relevance_floor: cosine below which a passage has nothing to do with the query.
        max_tokens: what the model reads of one text; the rest is cut off.
        query_prefix: stands before a query.
        document_prefix: stands before a passage.
        prefixes_itself: the engine that runs the model adds the prefixes.
    """

    name: str
    dimension: int
    relevance_floor: float
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""
    prefixes_itself: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """One piece of text that can be found again. Whose it is, is said where it is put, never here.

    Args:
        passage_id: unique among the passages of its user and collection; putting the same id again replaces it.
        text: what is embedded, searched and given back.
        kind: `document`, `turn`, `memory`, `web`…
        chat_id: the chat that it came from, "" for none.
        source_id: the document, message or page that it came from.
        position: order inside its source.
        meta: more, such as page, sheet and section; names of lower-case letters, digits and underscores.
    """

    passage_id: str
    text: str
    kind: str
    chat_id: str = ""
    source_id: str = ""
    position: int = 0
    meta: Mapping[str, MetaValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageFilter:
    """Which of a user's passages are meant; all conditions hold together. None = no condition, () = nothing matches.

    Args:
        passage_ids: one of these ids.
        chat_ids: of one of these chats.
        without_chat_ids: of none of these chats.
        source_ids: of one of these sources.
        kinds: one of these kinds.
        meta: these values.
        at_least: numbers in meta, each at least this.
        at_most: numbers in meta, each at most this.
    """

    passage_ids: tuple[str, ...] | None = None
    chat_ids: tuple[str, ...] | None = None
    without_chat_ids: tuple[str, ...] = ()
    source_ids: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    meta: Mapping[str, MetaValue] = field(default_factory=dict)
    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)


#: All passages of a user.
ANYWHERE: Final = PassageFilter()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage that a search brought up.

    Args:
        score: what the result is ordered by; comparable only within one result.
        cosine: likeness of meaning, -1 to 1; None when no vector could be compared (lexical mode, or a collection whose
            vectors belong to another model).
        relevant: the cosine reaches the model's relevance floor.
    """

    passage: Passage
    score: float
    cosine: float | None
    relevant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagePage:
    """Some passages in a fixed order.

    Args:
        after: give this to get the next page, None when there is none.
    """

    passages: tuple[Passage, ...]
    after: str | None
