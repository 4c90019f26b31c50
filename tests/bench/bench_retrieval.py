"""How well passages are found, and how fast.

    python tests/bench/bench_retrieval.py [--quick] [--tune] [--json FILE]

Quality: 320 questions, French and English, among 5,760 passages that are made by combination (`_paraphrases.py`): at
most 30 % of a question's content words stand in its answer, and they share no thing, fact or site with the 180 that
the fusion's weight was chosen with. recall@5 and MRR@10 of search by meaning (dense, the packaged model), by words
(lexical) and by both (hybrid), which must not fall behind; `missed` is what recall leaves. A second set asks for
passages by a number that stands in them, beside some of their words. `off topic` counts questions about nothing in the
collection that find nothing. `--tune` prints what each weight makes of the tuning half and of numbers, and ends.
Speed: 1,000 searches each of one user with 1k, 10k and 100k passages among 100 users, 200k passages in all, with
made-up vectors of 384 numbers; writing beside the bare engine on the same points; memory; the time until a restarted
store answers.
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
from typing import get_args

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "libs"), str(Path(__file__).resolve().parents[1])]

import psutil  # noqa: E402
from _harness import Report  # noqa: E402
from _paraphrases import MOST_SHARED, Corpus, Question, make_corpus, shared  # noqa: E402

from echo_core.passages import SESSION_RAG, EmbeddingModel, Passage, SearchMode, Vector  # noqa: E402
from echo_memory import EdgeEngine, PackagedEmbedder, PassageStore, fusion  # noqa: E402
from echo_memory.lexical import sparse_document  # noqa: E402
from echo_memory.points import Generation, Point, payload_of, point_id  # noqa: E402

SEED = 2026
WEIGHTS = (0.0, 0.7, 1.0, 1.2, 1.5, 2.0)
DIMENSION = 384
USERS, ALL = 100, 200_000
SIZES = (1_000, 10_000, 100_000)
SEARCHES = 1_000
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


async def indexed(folder: Path, corpus: Corpus) -> PassageStore:
    store = PassageStore(EdgeEngine(folder), PackagedEmbedder())
    mine = store.of("ada", SESSION_RAG)
    await mine.put([Passage(passage_id=str(n), text=text, kind="document") for n, text in enumerate(corpus.passages)])
    return store


def by_number(corpus: Corpus, *, tuning: bool = False) -> list[Question]:
    """Questions that name a passage's number beside its place and last words, which no other passage holds together."""
    step = len(corpus.passages) // 200
    asked = list(enumerate(corpus.passages))[step // 2 if tuning else 0 :: step]
    return [(f"{' '.join(text.rstrip('.').split()[-3:])} {_number(text)} {text.split(',')[0]}", n) for n, text in asked]


async def judged(store: PassageStore, questions: Sequence[Question], mode: SearchMode) -> tuple[float, float]:
    """recall@5 and MRR@10."""
    mine, ranks = store.of("ada", SESSION_RAG), []
    for question, answer in questions:
        found = await mine.search(question, limit=10, mode=mode)
        place = [n for n, one in enumerate(found, 1) if one.passage.passage_id == str(answer)]
        ranks.append(place[0] if place else 0)
    recall = sum(0 < rank <= 5 for rank in ranks) / len(ranks)
    return recall, statistics.mean(1 / rank if rank else 0 for rank in ranks)


async def quality(report: Report, folder: Path, corpus: Corpus) -> None:
    assert len(corpus.held_out) >= 300
    assert all(shared(question, corpus.passages[answer]) <= MOST_SHARED for question, answer in corpus.held_out)
    began = time.perf_counter()
    store = await indexed(folder, corpus)
    report.figure(f"indexing {len(corpus.passages)} passages, each", "ms", _ms(began) / len(corpus.passages))
    for name, questions in (("paraphrase", corpus.held_out), ("by number", by_number(corpus))):
        found: dict[SearchMode, tuple[float, float]] = {}
        for mode in get_args(SearchMode):
            found[mode] = await judged(store, questions, mode)
            report.figure(f"{name}: recall@5 {mode}", "share", found[mode][0])
            report.figure(f"{name}: MRR@10 {mode}", "share", found[mode][1])
        recall, rank = (max(found["dense"][n], found["lexical"][n]) for n in (0, 1))
        report.over(
            f"{name}: missed by hybrid, by the better one", "share", 1 - found["hybrid"][0], 1 - recall, at_most=0.0
        )
        # Where numbers are asked for, words alone put the answer first; one place behind it is found as well.
        slack = 0.0 if name == "paraphrase" else 0.05
        report.over(f"{name}: 1 - MRR, hybrid and the better", "share", 1 - found["hybrid"][1], 1 - rank, at_most=slack)
    mine = store.of("ada", SESSION_RAG)
    quiet = [not await mine.search(question) for question in OFF_TOPIC]
    report.figure("off topic: nothing found", "share", sum(quiet) / len(quiet))
    await store.close()


async def tune(report: Report, folder: Path, corpus: Corpus) -> None:
    store = await indexed(folder, corpus)
    for weight in WEIGHTS:
        fusion.LEXICAL_WEIGHT = weight  # type: ignore[misc]  # another constant for this process
        for name, questions in (("tuning half", corpus.tuning), ("by number", by_number(corpus, tuning=True))):
            recall, rank = await judged(store, questions, "hybrid")
            report.figure(f"weight {weight}: {name}, recall@5", "share", recall)
            report.figure(f"weight {weight}: {name}, MRR@10", "share", rank)
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
            assert await mine.search(texts[n % len(texts)])
            took.append(_ms(began))
        took.sort()
        report.figure(f"search, {size} passages of one user, p50", "ms", took[len(took) // 2])
        report.figure(f"search, {size} passages of one user, p99", "ms", took[len(took) * 99 // 100])
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
    parser.add_argument("--tune", action="store_true", help="compare weights of the fusion on the tuning half")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    corpus = make_corpus(SEED)
    if args.quick:
        corpus = corpus.thinned(16)
    report = Report("Retrieval: quality and speed")
    with tempfile.TemporaryDirectory() as folder:
        if args.tune:
            await tune(report, Path(folder), corpus)
        else:
            await quality(report, Path(folder) / "quality", corpus)
            sizes, total = ((500, 5_000), 20_000) if args.quick else (SIZES, ALL)
            await speed(report, Path(folder) / "speed", sizes, total)
    return report.finish(args.json)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
