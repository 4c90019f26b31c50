"""Exit 0 when the model in this container is loaded and the service answers, 1 when not."""

import os
import sys
import urllib.error
import urllib.request

TIMEOUT_S = 4.0


def main() -> int:
    """Ask once. The container engine repeats."""
    url = f"http://127.0.0.1:{os.environ.get('PORT', '7997')}/health"
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, OSError) as error:
        sys.stderr.write(f"{url}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
