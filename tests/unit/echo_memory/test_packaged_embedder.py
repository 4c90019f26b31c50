import math

import pytest

from echo_memory import PackagedEmbedder


@pytest.fixture(scope="module")
def embedder() -> PackagedEmbedder:
    return PackagedEmbedder()


def cosine(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_vectors_have_length_one_and_the_dimension_of_the_catalogue(embedder: PackagedEmbedder) -> None:
    model = await embedder.model()
    vectors = [*await embedder.embed_documents(["a", "", "x" * 9000]), *await embedder.embed_queries(["b"])]
    assert {len(vector) for vector in vectors} == {model.dimension}
    assert all(math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-4) for vector in vectors)


async def test_a_question_is_nearer_to_its_answer_than_to_another_matter(embedder: PackagedEmbedder) -> None:
    (query,) = await embedder.embed_queries(["Quand finit le bail ?"])
    answer, other = await embedder.embed_documents(
        ["The lease of the flat ends on 31 May.", "Le gratin dauphinois se fait avec des pommes de terre."]
    )
    assert cosine(query, answer) > cosine(query, other) + 0.01


async def test_odd_characters_are_embedded(embedder: PackagedEmbedder) -> None:
    whole, cut = await embedder.embed_documents(["before\0after", "before"])
    assert cosine(whole, cut) < 0.999
    assert len((await embedder.embed_documents(["\ud800 lone"]))[0]) == 384


async def test_no_texts_give_no_vectors(embedder: PackagedEmbedder) -> None:
    assert list(await embedder.embed_documents([])) == []
