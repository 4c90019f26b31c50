"""C11: what other plugins do to Google's SDK is no concern of ECHO, which speaks to Gemini by itself."""

import subprocess
import sys

from guards.project import LIBS

#: Everything that answers a question, without Open WebUI.
MODULES = "echo_runtime.orchestrator, echo_runtime.context, echo_runtime.backends, echo_gemini_client"


def test_no_google_sdk_is_needed() -> None:
    program = f"import sys\nsys.modules['google'] = sys.modules['google.genai'] = None\nimport {MODULES}\n"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(LIBS)}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
