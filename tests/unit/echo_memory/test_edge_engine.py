import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from echo_core.passages import SESSION_RAG
from echo_memory import EdgeEngine, PassageStore, VectorsDamaged, VectorsInUse
from guards.project import LIBS, ROOT
from passage_kit import WordEmbedder, passage

PUT_AND_WAIT = """
import asyncio, sys
from pathlib import Path
from echo_memory import EdgeEngine, PassageStore
from passage_kit import WordEmbedder, passage

async def main():
    store = PassageStore(EdgeEngine(Path(sys.argv[1])), WordEmbedder())
    await store.of("ada", "echo_session_rag").put([passage("1", "written before the end")])
    print("ready", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.fixture
def owner(tmp_path: Path):
    """Another process that has put a passage and keeps the folder."""
    env = {**os.environ, "PYTHONPATH": f"{LIBS}{os.pathsep}{ROOT / 'tests'}"}
    process = subprocess.Popen(
        [sys.executable, "-c", PUT_AND_WAIT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate(timeout=10)


async def test_a_folder_serves_one_process_and_survives_its_sudden_end(tmp_path: Path, owner) -> None:
    engine = EdgeEngine(tmp_path)
    mine = PassageStore(engine, WordEmbedder()).of("ada", SESSION_RAG)
    with pytest.raises(VectorsInUse):
        await mine.count()
    owner.send_signal(signal.SIGKILL)
    owner.wait(10)
    assert [one.passage.text for one in await mine.search("written")] == ["written before the end"]
    await engine.close()


async def test_what_was_put_is_there_after_closing(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path)
    mine = PassageStore(engine, WordEmbedder()).of("ada", SESSION_RAG)
    await mine.put([passage("1", "kept")])
    await engine.close()
    assert await mine.count() == 1
    await engine.close()


async def test_model_and_dimension_are_recorded(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path)
    await PassageStore(engine, WordEmbedder("some/model", 48)).of("ada", SESSION_RAG).put([passage("1", "x")])
    (about,) = tmp_path.glob("*/about.json")
    assert json.loads(about.read_text()) == {"model": "some/model", "dimension": 48}
    assert (tmp_path / "owner.lock").stat().st_mode & 0o077 == 0
    await engine.close()


async def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    engine = EdgeEngine(tmp_path)
    mine = PassageStore(engine, WordEmbedder()).of("ada", SESSION_RAG)
    await mine.put([passage("1", "x")])
    await engine.close()
    for path in tmp_path.glob("*/shard/**/*"):
        if path.is_file():
            path.write_bytes(b"rubbish")
    with pytest.raises(VectorsDamaged):
        await mine.count()
    await engine.close()
