"""`python -m tests.bench [NAME ...]`: run all measurements, or the named ones; figures go to `.run/bench/NAME.json`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parents[1] / ".run" / "bench"


def main(names: list[str]) -> int:
    """Run each `bench_NAME.py` in a process of its own, so that none measures the others' memory."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(HERE.glob("bench_*.py"))}
    unknown = [name for name in names if name not in found]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(found)}")
        return 2
    RESULTS.mkdir(parents=True, exist_ok=True)
    worst = 0
    for name in names or found:
        print(f"== {name}", flush=True)
        result = RESULTS / f"{name}.json"
        worst = max(worst, subprocess.run([sys.executable, found[name], "--json", result], check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
