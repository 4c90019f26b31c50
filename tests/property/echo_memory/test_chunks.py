from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from echo_memory.chunks import MOST_CHARS, WANTED_CHARS, Stretch, chunks

words = st.sampled_from(["un", "mot", "phrase.", "Fin !", "\n", "\n\n", " ", "é" * 40, "x" * 3000, "a" * 200 + "."])
texts = st.lists(words, max_size=60).map(" ".join)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[Stretch]]:
    text = draw(texts)
    edges = st.integers(0, len(text) + 5)
    pairs = draw(st.lists(st.tuples(edges, edges), max_size=5))
    return text, [Stretch(min(pair), max(pair), str(n)) for n, pair in enumerate(pairs)]


@given(cases())
def test_every_character_but_white_space_is_in_exactly_one_chunk(case: tuple[str, list[Stretch]]) -> None:
    text, stretches = case
    made = chunks(text, stretches)
    assert "".join("".join(text[one.start : one.end].split()) for one in made) == "".join(text.split())
    assert all(one.end <= other.start for one, other in pairwise(made))
    for one in made:
        assert 0 < one.end - one.start <= MOST_CHARS
        assert text[one.start : one.end] == text[one.start : one.end].strip()


@given(cases())
def test_no_chunk_crosses_a_stretch_and_the_narrowest_names_it(case: tuple[str, list[Stretch]]) -> None:
    text, stretches = case
    for one in chunks(text, stretches):
        touching = [a for a in stretches if a.start < one.end and one.start < a.end]
        assert all(a.start <= one.start and one.end <= a.end for a in touching)
        widths = {a.label: a.end - a.start for a in touching}
        assert one.label == "" if not widths else widths[one.label] == min(widths.values())


def test_short_paragraphs_are_put_together_and_long_ones_cut_at_sentences() -> None:
    together = chunks("\n\n".join(["Une phrase courte."] * 20))
    assert len(together) == 1
    long = "Cette phrase a une bonne quarantaine de lettres. " * 100
    assert all(long[one.start : one.end].endswith(".") for one in chunks(long))
    assert all(one.end - one.start <= WANTED_CHARS for one in chunks(long))
