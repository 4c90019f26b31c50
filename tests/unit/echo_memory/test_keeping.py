"""One fact, however often and in whatever words it is told, is one memory."""

from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from echo_core.memories import AXIOM, FUSED, TRIVIAL, Fact, Memory, MemoryOrigin
from echo_memory.keeping import Kept, Proposal, fuse_trivial, keep

LYON = [
    Fact(text="I live in Lyon", topic="city of residence", value="Lyon"),
    Fact(text="My home is in Lyon.", topic="home", value="Lyon"),
    Fact(text="J'habite à Lyon", topic="ville de résidence", value="Lyon"),
    Fact(text="Lyon is the town where I have my flat", topic="home town", value="Lyon"),
    Fact(text="On vit à Lyon", topic="lieu de vie", value="Lyon"),
]
NICE = Fact(text="I moved to Nice", topic="city of residence", value="Nice")
LILLE = Fact(text="No, Lille, that is where I live", topic="home", value="Lille")


class Book:
    """A user's memories, written as the store does."""

    def __init__(self) -> None:
        self.all: dict[str, Memory] = {}
        self._ids = count()

    @property
    def current(self) -> list[Memory]:
        return [memory for memory in self.all.values() if not memory.superseded_by]

    def tell(self, fact: Fact, origin: MemoryOrigin = "reading", importance: int = TRIVIAL) -> Kept:
        proposal = Proposal(fact=fact, origin=origin, importance=importance)
        kept = keep(self.current, proposal, f"m{next(self._ids)}", len(self.all))
        self.all |= {memory.id: memory for memory in kept.written}
        return kept

    def night(self) -> None:
        for kept in fuse_trivial(self.current, lambda: f"f{next(self._ids)}", 1_000):
            self.all |= {memory.id: memory for memory in kept.written}


def test_told_five_times_contradicted_and_corrected_is_one_memory_with_its_history() -> None:
    book = Book()
    assert [book.tell(fact).outcome for fact in LYON] == ["new", "same", "same", "same", "same"]
    assert [(memory.text, memory.importance) for memory in book.current] == [("I live in Lyon", 3)]
    assert book.tell(NICE).outcome == "replaces"
    assert book.tell(LILLE).outcome == "replaces"
    [holds] = book.current
    assert (holds.fact.value, holds.importance) == ("Lille", 3)
    assert [memory.fact.value for memory in book.all.values() if memory.superseded_by] == ["Lyon", "Nice"]


@given(st.lists(st.sampled_from([*LYON, NICE, LILLE]), min_size=1))
def test_one_topic_has_one_value_whatever_the_order(facts: list[Fact]) -> None:
    book = Book()
    for fact in facts:
        book.tell(fact)
    assert [memory.fact.value for memory in book.current] == [facts[-1].value]
    assert all(memory.superseded_by in book.all for memory in book.all.values() if memory.superseded_by)


def test_an_axiom_comes_by_order_only_and_a_reading_does_not_keep_it() -> None:
    book = Book()
    assert book.tell(LYON[0], importance=AXIOM).memory.importance == TRIVIAL
    assert book.tell(LYON[1], "order", AXIOM).memory.importance == AXIOM
    assert book.tell(NICE).memory.importance == AXIOM - 1


def test_a_pin_goes_over_to_the_correction() -> None:
    book = Book()
    first = book.tell(LYON[0]).memory
    book.all[first.id] = replace(first, pinned=True)
    assert book.tell(NICE).memory.pinned


def test_the_night_fuses_what_was_observed_of_one_topic() -> None:
    book = Book()
    book.tell(Fact(text="I am allergic to peanuts.", topic="allergy", value="peanuts"))
    book.tell(Fact(text="I am allergic to shellfish.", topic="allergies", value="shellfish"))
    book.tell(LYON[0])
    book.tell(Fact(text="The cat is called Tom.", topic="name of the cat", value="Tom"))
    book.tell(Fact(text="The cat is named Tom.", topic="name of the cat", value="Tom"))
    book.night()
    levels = {memory.text: memory.importance for memory in book.current}
    assert levels == {
        "I am allergic to peanuts. I am allergic to shellfish.": FUSED,
        "I live in Lyon": TRIVIAL,
        "The cat is called Tom.": FUSED,
    }
    assert book.tell(Fact(text="Peanuts: I am allergic.", topic="allergy", value="peanuts")).outcome == "same"
    before = dict(book.all)
    book.night()
    assert book.all == before, "another night finds nothing to do"
