"""Cloning from https, from the user's own workspaces and from folders that an administrator allows."""

import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from struct import pack
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from dulwich.objects import Blob, Commit, Tree
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

from codex_kit import ADA, Git, make_codex
from echo_codex_git import Codex, RemotePolicy
from echo_codex_git.errors import (
    CodexLimitError,
    RemoteFailedError,
    RemoteRefusedError,
    UnsafePathError,
    WorkspaceMissingError,
)
from echo_codex_git.pack_sizes import require_bounded_pack
from http_servers.certificates import Certificates


@pytest.fixture
def origin(git: Git, tmp_path: Path) -> Path:
    """A repository of stock Git with two branches, a tag, a link, a submodule entry, and hooks."""
    folder = tmp_path / "served" / "origin"
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "a").write_text("1\n")
    (folder / "tool").write_text("#!/bin/sh\n")
    (folder / "tool").chmod(0o755)
    (folder / "link").symlink_to("/etc/passwd")
    git(folder, "add", "-A")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(folder, "commit", "-qm", "first")
    git(folder, "tag", "-a", "v1", "-m", "one")
    git(folder, "checkout", "-q", "-b", "dev")
    (folder / "b").write_text("2\n")
    git(folder, "add", "b")
    git(folder, "commit", "-qm", "second")
    git(folder, "checkout", "-q", "trunk")
    return folder


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        """Nothing to tell."""


class Served:
    """One repository over https, with the test's certificate authority."""

    def __init__(self, folder: Path, repo: Repo) -> None:
        certificates = Certificates(folder)
        self.ca_file = str(certificates.ca_file)
        self.redirect_to = ""
        self.plain = self.drips = False
        self._stopping = threading.Event()
        chain = make_wsgi_chain(DictBackend({"/r": repo}))

        def app(environ, start_response):  # type: ignore[no-untyped-def]
            if self.redirect_to:
                where = self.redirect_to + environ["PATH_INFO"] + "?" + environ["QUERY_STRING"]
                start_response("302 Found", [("Location", where)])
                return []
            if self.plain:
                start_response("200 OK", [("Content-Type", "text/plain")])
                return [b"1" * 40 + b"\trefs/heads/main\n"]
            if self.drips:
                start_response("200 OK", [("Content-Type", "application/x-git-upload-pack-advertisement")])
                return self._drip()
            return chain(environ, start_response)

        self._server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
        self._server.socket = certificates.server_context().wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}/r"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def _drip(self) -> Iterator[bytes]:
        yield b"ffff"
        while not self._stopping.wait(0.05):
            yield b"x"

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def served(origin: Path, tmp_path: Path) -> Iterator[Served]:
    with Repo(str(origin)) as repo:
        server = Served(tmp_path, repo)
        yield server
        server.stop()


def trusting(tmp_path: Path, ca_file: str, **limits: float) -> Codex:
    return make_codex(tmp_path / "data", policy=RemotePolicy(private_hosts=True, ca_file=ca_file), **limits)


async def test_an_https_remote_is_cloned_whole(served: Served, tmp_path: Path, git: Git) -> None:
    codex = trusting(tmp_path, served.ca_file)
    status = await codex.clone("ada", "w", served.url)
    tree = codex.paths.codex_dir("ada") / "w"
    assert (status.branch, status.changes) == ("trunk", {})
    assert git.agrees(tree, status)
    git.require_whole(tree)
    assert await codex.branches("ada", "w") == ["dev", "trunk"]
    assert git(tree, "tag").split() == ["v1"]
    assert (tree / "tool").stat().st_mode & 0o100
    assert not (tree / "link").is_symlink()
    assert (tree / "link").read_text() == "/etc/passwd"
    with pytest.raises(UnsafePathError):
        await codex.write("ada", "w", "link", "/etc/shadow")
    await codex.switch("ada", "w", "dev")
    await codex.write("ada", "w", "c", "3\n")
    await codex.commit("ada", "w", "third", ADA)
    assert git(tree, "ls-tree", "HEAD", "link").startswith("120000")
    assert git(tree, "ls-tree", "HEAD", "sub").startswith("160000")
    assert git.agrees(tree, await codex.status("ada", "w"))


async def test_an_untrusted_certificate_is_refused(served: Served, tmp_path: Path) -> None:
    codex = make_codex(tmp_path / "data", policy=RemotePolicy(private_hosts=True))
    with pytest.raises(RemoteFailedError):
        await codex.clone("ada", "w", served.url)
    assert await codex.workspaces("ada") == []


async def test_a_redirect_is_not_followed(served: Served, tmp_path: Path) -> None:
    codex = trusting(tmp_path, served.ca_file)
    served.redirect_to = "https://169.254.169.254"
    with pytest.raises(RemoteFailedError):
        await codex.clone("ada", "w", served.url)
    assert not any((codex.paths.codex_dir("ada") / ".echo" / "drafts").iterdir())


async def test_a_clone_is_bounded(served: Served, tmp_path: Path) -> None:
    for limits in ({"pack_bytes": 100}, {"unpacked_bytes": 100}, {"file_bytes": 10}, {"files": 1}):
        codex = trusting(tmp_path, served.ca_file, **limits)
        with pytest.raises(CodexLimitError):
            await codex.clone("ada", "w", served.url)
        assert await codex.workspaces("ada") == []


async def test_a_server_of_plain_files_is_refused(served: Served, tmp_path: Path) -> None:
    served.plain = True
    with pytest.raises(RemoteFailedError):
        await trusting(tmp_path, served.ca_file).clone("ada", "w", served.url)


async def test_a_server_that_drips_is_given_up(served: Served, tmp_path: Path) -> None:
    served.drips = True
    codex = trusting(tmp_path, served.ca_file, clone_total_s=0.3)
    with pytest.raises(RemoteFailedError):
        await codex.clone("ada", "w", served.url)
    assert await codex.workspaces("ada") == []


@pytest.mark.parametrize(
    "source",
    ["http://example.org/r", "git://example.org/r", "ssh://git@example.org/r", "file:///etc", "ftp://example.org/r",
     "https://user:pass@example.org/r", "https://user@example.org/r", "https://127.0.0.1/r", "https://localhost/r",
     "https://[::1]/r", "https://169.254.169.254/latest", "https://10.0.0.1/r", "https://[::ffff:127.0.0.1]/r",
     "https://0.0.0.0/r", "https:///r", "https://ex ample.org/r", "https://example.org:99999/r", "ext::sh -c id://x",
     "/etc", "/", "../bob/codex/w", "~/x", "git@example.org:a/b"],
)  # fmt: skip
async def test_odd_sources_are_refused(codex: Codex, source: str) -> None:
    with pytest.raises(RemoteRefusedError):
        await codex.clone("ada", "w", source)
    assert await codex.workspaces("ada") == []


async def test_own_workspaces_and_allowed_folders_are_cloned(origin: Path, tmp_path: Path, git: Git) -> None:
    hook = origin / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    codex = make_codex(tmp_path / "data", policy=RemotePolicy(local_roots=(tmp_path / "served",)))
    await codex.clone("ada", "w", str(origin))
    await codex.clone("ada", "copy", "w")
    copy = codex.paths.codex_dir("ada") / "copy"
    assert git.agrees(copy, await codex.status("ada", "copy"))
    assert not (copy / ".git" / "hooks" / "post-checkout").exists()
    assert not (tmp_path / "ran").exists()
    (tmp_path / "served" / "out").symlink_to(tmp_path / "data")
    for source in (str(tmp_path), str(tmp_path / "served" / "out" / "users/ada/codex/w"), "/etc"):
        with pytest.raises(RemoteRefusedError):
            await codex.clone("bob", "x", source)
    with pytest.raises(WorkspaceMissingError):
        await codex.clone("bob", "x", "w")


@pytest.mark.parametrize(
    "names",
    [(b".git",), (b".GIT",), (b"..",), (b"git~1",), (b".git::$INDEX_ALLOCATION",), (b"a\\..\\b",), (b".git.",),
     (b".g\xe2\x80\x8cit",), (b"a", b".git"), (b"a", b"..")],
)  # fmt: skip
async def test_a_hostile_tree_is_not_checked_out(tmp_path: Path, names: tuple[bytes, ...]) -> None:
    folder = tmp_path / "served" / "evil"
    folder.mkdir(parents=True)
    with Repo.init(str(folder)) as repo:
        blob = Blob.from_string(b"[core]\n\tfsmonitor = touch /tmp/owned\n")
        leaf = Tree()
        leaf.add(b"config", 0o100644, blob.id)
        objects: list[Blob | Tree | Commit] = [blob, leaf]
        for name in reversed(names):
            above = Tree()
            above.add(name, 0o040000, objects[-1].id)
            objects.append(above)
        commit = Commit()
        commit.tree = objects[-1].id
        commit.author = commit.committer = b"x <x@x>"
        commit.author_time = commit.commit_time = commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"x"
        for made in [*objects, commit]:
            repo.object_store.add_object(made)
        repo.refs[b"refs/heads/master"] = commit.id  # type: ignore[index]
    codex = make_codex(tmp_path / "data", policy=RemotePolicy(local_roots=(tmp_path / "served",)))
    with pytest.raises(UnsafePathError):
        await codex.clone("ada", "w", str(folder))
    assert await codex.workspaces("ada") == []


def entry(kind: int, size: int, body: bytes) -> bytes:
    first, size = (kind << 4) | (size & 15), size >> 4
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    return bytes([*head, first]) + body


@pytest.mark.parametrize("kind", ["zlib", "delta"])
def test_a_bomb_is_found_before_it_is_unpacked(tmp_path: Path, kind: str) -> None:
    if kind == "zlib":
        data = entry(3, 1 << 26, zlib.compress(b"\0" * (1 << 26)))
    else:
        delta = b"\x01" + b"\x80\x80\x80\x80\x10" + b"\x80"
        data = entry(7, len(delta), b"\1" * 20 + zlib.compress(delta))
    path = tmp_path / "pack"
    path.write_bytes(b"PACK" + pack(">II", 2, 1) + data + os.urandom(20))
    with path.open("rb") as file, pytest.raises(CodexLimitError):
        require_bounded_pack(file, object_bytes=1 << 20, total_bytes=1 << 24)


def test_what_git_packs_is_measured_right(origin: Path, git: Git, tmp_path: Path) -> None:
    (origin / "big").write_text("".join(f"line {n}\n" for n in range(20_000)))
    git(origin, "add", "-A")
    git(origin, "commit", "-qm", "big")
    (origin / "big").write_text("".join(f"line {n}\n" for n in range(20_001)))
    git(origin, "commit", "-qam", "bigger")
    git(origin, "gc", "-q")
    (found,) = (origin / ".git/objects/pack").glob("*.pack")
    size = len((origin / "big").read_bytes())
    with found.open("rb") as file:
        require_bounded_pack(file, object_bytes=size, total_bytes=1 << 30)
        with pytest.raises(CodexLimitError):
            require_bounded_pack(file, object_bytes=size - 1, total_bytes=1 << 30)
