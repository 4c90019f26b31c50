"""How well passages are found, and how fast.

    python tests/bench/bench_retrieval.py [--quick] [--json FILE]

Quality: 360 questions, French and English, among 5,760 passages that are made by combination (`_paraphrases.py`): at
most 30 % of a question's content words stand in its answer. recall@5 and MRR@10 of search by meaning (dense, the
packaged model), by words (lexical) and by both (hybrid); `missed` is what recall leaves. A second set asks for passages
by a number that stands in them. `off topic` counts questions about nothing in the collection that find nothing.
Speed: searches of one user with 1k, 10k and 100k passages among 100 users, 200k passages in all, with made-up vectors
of 384 numbers; writing beside the bare engine on the same points; memory; the time until a restarted store answers.
`--quick` takes an eighth of the passages and 20k in all.
"""

import argparse
import asyncio
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "libs"), str(Path(__file__).resolve().parents[1])]

import psutil  # noqa: E402
from _harness import Report  # noqa: E402
from _paraphrases import Corpus, make_corpus  # noqa: E402

from echo_core.passages import SESSION_RAG, EmbeddingModel, Passage, Vector  # noqa: E402
from echo_memory import EdgeEngine, PackagedEmbedder, PassageStore  # noqa: E402
from echo_memory.lexical import sparse_document  # noqa: E402
from echo_memory.points import Generation, Point, payload_of, point_id  # noqa: E402

#: Another seed than the one that the weights of the fusion were chosen with.
SEED = 2026
DIMENSION = 384
USERS, ALL = 100, 200_000
SIZES = (1_000, 10_000, 100_000)
SEARCHES = 60
OFF_TOPIC = [
    "Quel temps fera-t-il demain sur Tokyo ?", "Écris un poème sur la mer et les étoiles.", "Bonjour, comment vas-tu ?",
    "What is the capital of Mongolia?", "Explain quantum entanglement to a child.", "Solve x squared minus four.",
    "Traduis merci beaucoup en japonais.", "Who won the chess world championship?", "Raconte une blague de pirates.",
    "Write a Python function that sorts numbers.",
]  # fmt: skip


class MadeUp:
    """An embedder of random directions, which costs nothing."""

    def __init__(self) -> None:
        self._chance = random.Random(3)

    async def model(self) -> EmbeddingModel:
        return EmbeddingModel(name="made-up", dimension=DIMENSION, relevance_floor=-1.0, max_tokens=512)

    async def embed_queries(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self.vector() for _ in texts]

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        return [self.vector() for _ in texts]

    def vector(self) -> list[float]:
        raw = [self._chance.gauss(0, 1) for _ in range(DIMENSION)]
        length = math.hypot(*raw)
        return [value / length for value in raw]


async def quality(report: Report, folder: Path, corpus: Corpus) -> None:
    store = PassageStore(EdgeEngine(folder), PackagedEmbedder())
    mine = store.of("ada", SESSION_RAG)
    began = time.perf_counter()
    await mine.put([Passage(passage_id=str(n), text=text, kind="document") for n, text in enumerate(corpus.passages)])
    report.figure(f"indexing {len(corpus.passages)} passages, each", "ms", _ms(began) / len(corpus.passages))
    numbers = [(f"{text.rstrip('.').split()[-1]} {_number(text)}", n) for n, text in enumerate(corpus.passages[:200])]
    for name, questions in (("paraphrase", corpus.questions), ("by number", numbers)):
        missed: dict[str, float] = {}
        for mode in ("dense", "lexical", "hybrid"):
            ranks = []
            for question, answer in questions:
                found = await mine.search(question, limit=10, mode=mode)
                place = [n for n, one in enumerate(found, 1) if one.passage.passage_id == str(answer)]
                ranks.append(place[0] if place else 0)
            recall = sum(0 < rank <= 5 for rank in ranks) / len(ranks)
            missed[mode] = 1 - recall
            report.figure(f"{name}: recall@5 {mode}", "share", recall)
            report.figure(f"{name}: MRR@10 {mode}", "share", statistics.mean(1 / rank if rank else 0 for rank in ranks))
        better = min(missed["dense"], missed["lexical"])
        report.over(f"{name}: missed by hybrid, by the better one", "share", missed["hybrid"], better, at_most=0.0)
    quiet = [not await mine.search(question) for question in OFF_TOPIC]
    report.figure("off topic: nothing found", "share", sum(quiet) / len(quiet))
    await store.close()


def _number(text: str) -> str:
    return next(word.strip(".,") for word in text.split() if word.strip(".,").isdigit())


async def speed(report: Report, folder: Path, sizes: tuple[int, ...], total: int) -> None:
    made, engine = MadeUp(), EdgeEngine(folder)
    store = PassageStore(engine, made)
    generation = Generation(SESSION_RAG, "made-up", DIMENSION)
    await engine.create(generation)
    texts = [f"{one} {n}" for n, one in enumerate(make_corpus(3).passages[:500])]
    sparse = [sparse_document(text) for text in texts]
    owners = [f"big{size}" for size in sizes for _ in range(size)]
    owners += [f"user{n % (USERS - len(sizes))}" for n in range(total - len(owners))]
    random.Random(4).shuffle(owners)
    began = time.perf_counter()
    for begin in range(0, total, 256):
        await engine.upsert(
            generation, [_point(n, owners[n], texts, sparse, made) for n in range(begin, min(total, begin + 256))]
        )
    report.figure(f"{total} points written, each", "ms", _ms(began) / total)
    for size in sizes:
        mine = store.of(f"big{size}", SESSION_RAG)
        await mine.search(texts[0])
        took = []
        for n in range(SEARCHES):
            began = time.perf_counter()
            assert await mine.search(texts[n * 7])
            took.append(_ms(began))
        took.sort()
        report.figure(f"search, {size} passages of one user, p50", "ms", took[len(took) // 2])
        report.figure(f"search, {size} passages of one user, p99", "ms", took[-1])
    report.figure("resident memory", "MB", psutil.Process().memory_info().rss / 1e6)
    await _writing(report, store, made)
    await store.close()
    began = time.perf_counter()
    again = PassageStore(EdgeEngine(folder), made)
    assert await again.of("user1", SESSION_RAG).count()
    report.figure("restart until the first answer", "ms", _ms(began))
    await again.close()


async def _writing(report: Report, store: PassageStore, made: MadeUp) -> None:
    """Passages through the store beside the same points given to the bare engine; both on top of what is there."""
    import qdrant_edge as edge

    texts = make_corpus(5).passages[:640]
    passages = [Passage(passage_id=f"w{n}", text=text, kind="document") for n, text in enumerate(texts)]
    mine = store.of("writer", SESSION_RAG)
    await mine.put(passages)
    began = time.perf_counter()
    await mine.put(passages)
    ours = _ms(began) / len(passages)
    vectors = [made.vector() for _ in texts]
    sparse = [sparse_document(text) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        dense = {"dense": edge.EdgeVectorParams(size=DIMENSION, distance=edge.Distance.Cosine)}
        lexical = {"lexical": edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
        shard = edge.EdgeShard.create(folder, edge.EdgeConfig(vectors=dense, sparse_vectors=lexical))
        began = time.perf_counter()
        for begin in range(0, len(texts), 16):
            shard.update(
                edge.UpdateOperation.upsert_points(
                    [
                        edge.Point(
                            id=point_id("bare", f"w{n}"),
                            vector={
                                "dense": vectors[n],
                                "lexical": edge.SparseVector(list(sparse[n].indices), list(sparse[n].weights)),
                            },
                            payload=payload_of("bare", passages[n]),
                        )
                        for n in range(begin, min(len(texts), begin + 16))
                    ]
                )
            )
        report.ratio("one passage written, without its embedding", "ms", ours, _ms(began) / len(texts))
        shard.close()


def _point(n: int, owner: str, texts: list[str], sparse: list[object], made: MadeUp) -> Point:
    passage = Passage(passage_id=str(n), text=texts[n % len(texts)], kind="document")
    return Point(
        point_id=point_id(owner, str(n)),
        payload=payload_of(owner, passage),
        dense=made.vector(),
        lexical=sparse[n % len(sparse)],  # type: ignore[arg-type]
    )


def _ms(began: float) -> float:
    return (time.perf_counter() - began) * 1000


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="an eighth of the passages, 20k in all")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    corpus = make_corpus(SEED)
    if args.quick:
        kept = {answer for _, answer in corpus.questions}
        places = [n for n in range(len(corpus.passages)) if n in kept or n % 16 == 0]
        moved = {old: new for new, old in enumerate(places)}
        corpus = Corpus([corpus.passages[n] for n in places], [(text, moved[n]) for text, n in corpus.questions])
    report = Report("Retrieval: quality and speed")
    with tempfile.TemporaryDirectory() as folder:
        await quality(report, Path(folder) / "quality", corpus)
        sizes, total = ((500, 5_000), 20_000) if args.quick else (SIZES, ALL)
        await speed(report, Path(folder) / "speed", sizes, total)
    return report.finish(args.json)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
