from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from echo_memory.fusion import LEXICAL_WEIGHT, fuse
from echo_memory.lexical import sparse_document, sparse_query


@given(st.text(max_size=300))
def test_a_text_shares_all_its_stems_with_itself(text: str) -> None:
    query, document = sparse_query(text), sparse_document(text)
    assert query.indices == document.indices == tuple(sorted(set(document.indices)))
    assert all(weight > 0 for weight in document.weights)
    assert all(0 <= index < 2**32 for index in document.indices)


def test_case_accents_and_forms_do_not_matter() -> None:
    one, other = sparse_query("Élevage des CHEVAUX"), sparse_query("elevages cheval")
    assert set(one.indices) & set(other.indices)
    assert not set(sparse_query("maison").indices) & set(other.indices)


def test_empty_words_say_nothing() -> None:
    assert not sparse_query("est-ce que c'est à la ?")
    assert not sparse_query("what is it for")


def test_more_of_a_word_weighs_more_and_a_long_text_less() -> None:
    (once,) = sparse_document("zebra").weights[:1]
    assert sparse_document("zebra zebra").weights[0] > once
    assert sparse_document("zebra " + "filler " * 500).weights[0] < once * 3


cosines = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1), max_size=8)
scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.01, 50), max_size=8)


@given(cosines, scores, st.floats(-1, 1))
def test_fusion_keeps_what_is_relevant_and_orders_it(by_meaning, by_words, floor) -> None:
    fused = fuse(by_meaning, by_words, floor)
    assert [one.score for one in fused] == sorted((one.score for one in fused), reverse=True)
    kept = {one.point_id for one in fused}
    assert {key for key, value in by_meaning.items() if value >= floor} <= kept <= by_meaning.keys() | by_words.keys()
    assert all(one.relevant or one.strong_words for one in fused)
    assert all(one.score <= 1 + LEXICAL_WEIGHT + 1e-9 for one in fused)


@given(cosines)
def test_without_words_the_order_is_that_of_the_cosines(by_meaning) -> None:
    fused = fuse(by_meaning, {}, -1.0)
    order = [by_meaning[one.point_id] for one in fused]
    assert all(first >= second - 1e-9 for first, second in pairwise(order))


def test_a_rare_word_wins_and_a_common_one_does_not() -> None:
    by_meaning = {"near": 0.9, "far": 0.7, **{f"other{n}": 0.4 for n in range(20)}}
    assert [one.point_id for one in fuse(by_meaning, {"far": 9.0}, 0.0)][:2] == ["far", "near"]
    common = {"far": 9.0, **{f"other{n}": 9.0 for n in range(20)}}
    assert [one.point_id for one in fuse(by_meaning, common, 0.0)][:2] == ["near", "far"]
    assert [one.point_id for one in fuse(by_meaning, common, 0.95)] == []
    assert [one.point_id for one in fuse(by_meaning, {"far": 9.0}, 0.95)] == ["far"]
