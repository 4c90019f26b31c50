"""What the container files say. Quick; with Compose and hadolint where these are at hand."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from docker_tools import ROOT, available, fetched
from echo_constants import ECHO_VERSION
from echo_memory import PACKAGED_MODEL

COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "docker" / "openwebui" / "Dockerfile"
DOCKERFILES = sorted((ROOT / "docker").glob("*/Dockerfile"))
EXAMPLE = ROOT / ".env.example"

#: The checks with programs run twice: quickly where they are at hand, and by `make test-docker`, which fetches them.
programs = pytest.mark.parametrize("get", [available, pytest.param(fetched, marks=pytest.mark.docker)])
Get = Callable[[str], str]


def compose() -> dict[str, Any]:
    return yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))


def config(program: str, tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """`docker compose config` away from any .env of the checkout."""
    (tmp_path / "empty.env").touch()
    command = [program, "--project-directory", str(ROOT), "-f", str(COMPOSE), "--env-file", str(tmp_path / "empty.env")]
    clean = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    return subprocess.run(
        [*command, "config", "--format", "json"], env={**clean, **env}, capture_output=True, text=True, check=False
    )


def test_the_file_has_no_version_line_and_the_agreed_names() -> None:
    file = compose()
    assert "version" not in file
    service = file["services"]["open-webui"]
    assert service["image"] == f"${{ECHO_IMAGE:-echo-open-webui:{ECHO_VERSION}}}"
    assert file["networks"]["echo-network"]["name"] == "echo-network"


@programs
def test_compose_takes_the_file_and_fills_in_the_topology(get: Get, tmp_path: Path) -> None:
    done = config(get("docker-compose"), tmp_path, WEBUI_SECRET_KEY="a secret")
    assert done.returncode == 0, done.stderr
    file = json.loads(done.stdout)
    service = file["services"]["open-webui"]
    assert service["networks"]["echo-network"]["ipv4_address"] == "172.30.0.100"
    assert file["networks"]["echo-network"]["ipam"]["config"] == [{"subnet": "172.30.0.0/24"}]
    (port,) = service["ports"]
    assert (port["target"], port["published"], port["host_ip"]) == (8080, "3000", "127.0.0.1")
    assert service["restart"] == "unless-stopped" and service["healthcheck"]["test"]
    (volume,) = service["volumes"]
    assert (volume["type"], volume["target"]) == ("volume", "/data")
    assert service["environment"]["WEBUI_SECRET_KEY"] == "a secret"
    assert service["environment"].get("GEMINI_API_KEY") is None
    assert service["cap_drop"] == ["ALL"]


@programs
def test_without_a_secret_key_compose_refuses_and_says_which(get: Get, tmp_path: Path) -> None:
    done = config(get("docker-compose"), tmp_path)
    assert done.returncode != 0
    assert "WEBUI_SECRET_KEY" in done.stderr and ".env.example" in done.stderr


@programs
def test_the_settings_reach_the_service(get: Get, tmp_path: Path) -> None:
    changes = {"ECHO_SUBNET": "10.9.8.0/24", "ECHO_IP_OPEN_WEBUI": "10.9.8.100", "ECHO_PORT": "3333"}
    done = config(get("docker-compose"), tmp_path, WEBUI_SECRET_KEY="x", GEMINI_API_KEY="k", **changes)
    service = json.loads(done.stdout)["services"]["open-webui"]
    assert service["networks"]["echo-network"]["ipv4_address"] == "10.9.8.100"
    assert service["ports"][0]["published"] == "3333"
    assert service["environment"]["GEMINI_API_KEY"] == "k"


@programs
def test_vectors_and_embeddings_have_their_place(get: Get, tmp_path: Path) -> None:
    services = json.loads(config(get("docker-compose"), tmp_path, WEBUI_SECRET_KEY="x").stdout)["services"]
    places = {name: services[name]["networks"]["echo-network"]["ipv4_address"] for name in ("echo-embedding", "qdrant")}
    assert places == {"echo-embedding": "172.30.0.30", "qdrant": "172.30.0.103"}
    told = services["open-webui"]["environment"]
    assert told["QDRANT_URL"] == "http://qdrant:6333"
    assert told["EMBEDDING_URL"] == "http://echo-embedding:7997/v1"
    assert told["EMBEDDING_MODEL"] == services["echo-embedding"]["environment"]["EMBEDDING_MODEL"] == PACKAGED_MODEL
    for name in places:
        service = services[name]
        assert "ports" not in service and service["cap_drop"] == ["ALL"] and service["healthcheck"]["test"]
    assert services["echo-embedding"]["volumes"][0]["read_only"]
    inside = {"QDRANT_URL": "", "EMBEDDING_URL": ""}
    services = json.loads(config(get("docker-compose"), tmp_path, WEBUI_SECRET_KEY="x", **inside).stdout)["services"]
    assert {name: services["open-webui"]["environment"][name] for name in inside} == inside


@programs
@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_hadolint_has_nothing_to_say(get: Get, dockerfile: Path) -> None:
    done = subprocess.run([get("hadolint"), str(dockerfile)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_variable_of_the_compose_file_is_in_the_example() -> None:
    used = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE.read_text(encoding="utf-8")))
    told = set(re.findall(r"^#?([A-Z_]+)=", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE))
    assert used <= told, used - told


def test_the_example_holds_no_secret_and_one_thing_to_fill_in() -> None:
    active = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert active == ["WEBUI_SECRET_KEY="]


@pytest.mark.parametrize("dockerfile", DOCKERFILES, ids=lambda path: path.parent.name)
def test_the_image_runs_as_a_plain_user_from_pinned_packages_with_a_health_check(dockerfile: Path) -> None:
    text = dockerfile.read_text(encoding="utf-8")
    final = text[text.rindex("FROM ") :]
    assert text.count("FROM ${BASE_IMAGE}") == 3 and "ARG BASE_IMAGE=python:3.11-slim" in text
    assert all("--require-hashes" in line for line in text.splitlines() if "pip install" in line and "-r " in line)
    assert "USER 10001:10001" in final and "HEALTHCHECK" in final
    assert dockerfile != DOCKERFILE or "OFFLINE_MODE=true" in final
    assert "SECRET" not in text and "API_KEY" not in text


def test_only_what_the_image_needs_is_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*", "everything is left out unless it is named"
    named = {line.removeprefix("!") for line in rules if line.startswith("!")}
    copied = {
        word
        for dockerfile in DOCKERFILES
        for line in dockerfile.read_text(encoding="utf-8").splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    }
    assert copied - {"."} <= named
    assert not [name for name in named if ".env" in name or "tests" in name]
