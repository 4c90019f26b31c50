"""Cloning: from one of the user's own workspaces, a folder that the administrator allows, or an https address."""

import ipaddress
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from dulwich.client import FetchPackResult, HttpGitClient
from dulwich.errors import GitProtocolError, NotGitRepository
from dulwich.objects import ObjectID
from dulwich.refs import HEADREF, Ref
from dulwich.repo import Repo

from echo_codex_git.errors import CodexLimitError, RemoteFailedError, RemoteRefusedError
from echo_codex_git.limits import CodexLimits
from echo_codex_git.pack_sizes import require_bounded_pack
from echo_codex_git.repository import COMMITTER, Repository

_CHUNK: Final = 64 * 1024
_HEADS: Final = b"refs/heads/"
_TAGS: Final = b"refs/tags/"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemotePolicy:
    """What may be cloned besides the user's own workspaces.

    Args:
        https: whether https addresses are allowed at all.
        private_hosts: also hosts whose addresses are private, loopback or link-local.
        local_roots: folders of the server below which repositories may be cloned by path.
        ca_file: certificates to trust instead of the system's.
    """

    https: bool = True
    private_hosts: bool = False
    local_roots: tuple[Path, ...] = ()
    ca_file: str | None = None


def clone_https(target: Repository, url: str, policy: RemotePolicy) -> None:
    """Fetch all branches and tags of an https address into an empty repository and check the default branch out.

    Raises:
        RemoteRefusedError: another scheme, a password in the address, or a host that is not public.
        RemoteFailedError: unreachable, no repository, or something broken.
        CodexLimitError: larger than the limits.
        UnsafePathError: its files would not be safe to write.
    """
    host = require_allowed(url, policy)
    pool = _pool(host, policy, target.limits)
    client = _BoundedClient(url, pool, target.limits)

    def fetch(write: Callable[[bytes], int]) -> FetchPackResult:
        return client.fetch_pack("", _wants, _NoHistory(), write)

    try:
        result = _receive(target, fetch)
    except (GitProtocolError, NotGitRepository, OSError, ValueError, AssertionError) as error:
        raise RemoteFailedError(f"{type(error).__name__}: {error}"[:500]) from error
    finally:
        client.close()
    _settle(target, {ref: sha for ref, sha in result.refs.items() if sha is not None}, dict(result.symrefs), url)


def clone_folder(target: Repository, source: Path, label: str) -> None:
    """Copy another repository's branches and tags; nothing of its configuration or hooks.

    Args:
        target: empty.
        source: the repository's folder, working tree or bare.
        label: what the log says the clone came from.

    Raises:
        RemoteFailedError: no repository there.
        CodexLimitError, UnsafePathError: as `clone_https`.
    """
    try:
        origin = Repo(str(source))
    except (NotGitRepository, OSError, ValueError) as error:
        raise RemoteFailedError(str(error)) from error
    with origin:
        refs = {ref: sha for ref, sha in origin.get_refs().items() if ref.startswith((_HEADS, _TAGS)) or ref == HEADREF}
        symrefs = {ref: to for ref, to in origin.refs.get_symrefs().items() if ref == HEADREF}
        wants = _wants(refs)
        if wants:
            count, objects = origin.object_store.generate_pack_data([], wants)
            target.store.add_pack_data(count, objects)
    _settle(target, refs, symrefs, label)


def local_source(path: str, policy: RemotePolicy) -> Path:
    """A folder of the server, when the administrator allows it.

    Raises:
        RemoteRefusedError: not below an allowed folder, links followed.
    """
    try:
        real = Path(path).resolve(strict=True)
        roots = [root.resolve(strict=True) for root in policy.local_roots if root.is_dir()]
    except (OSError, RuntimeError, ValueError) as error:
        raise RemoteRefusedError("not there or not allowed") from error
    if not any(real.is_relative_to(root) for root in roots):
        raise RemoteRefusedError("not below an allowed folder")
    return real


def require_allowed(url: str, policy: RemotePolicy) -> str:
    """Refuse addresses that a model must not make the server visit; returns the host's name.

    Raises:
        RemoteRefusedError: another scheme, a user or password, or a host that is not public.
        RemoteFailedError: the host has no address.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError as error:
        raise RemoteRefusedError("not an address") from error
    if parts.scheme != "https" or not host or parts.username is not None or parts.password is not None:
        raise RemoteRefusedError("scheme or password")
    if not policy.https or any(ord(char) <= 0x20 or ord(char) > 0x7E for char in url):
        raise RemoteRefusedError("https is off, or odd characters")
    if policy.private_hosts:
        return host
    # A name that leads elsewhere a moment later gains nothing: an inner server has no certificate for it.
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except OSError as error:
        if _proxy(host):
            return host  # only the proxy can look names up, and decides what it reaches
        raise RemoteFailedError(f"no address: {error}") from error
    if not all(ipaddress.ip_address(str(address).split("%")[0]).is_global for address in found):
        raise RemoteRefusedError("not a public host")
    return host


def _proxy(host: str) -> str | None:
    """The proxy that the environment names for https."""
    return None if proxy_bypass(host) else getproxies().get("https")


def _pool(host: str, policy: RemotePolicy, limits: CodexLimits) -> Any:
    """Connections that never leave the host that was checked: redirects are not followed."""
    import urllib3

    timeout = urllib3.Timeout(connect=limits.clone_s, read=limits.clone_s)
    retries = urllib3.Retry(total=0, redirect=0, raise_on_redirect=True)
    proxy = _proxy(host)
    made: Any = urllib3.PoolManager if proxy is None else partial(urllib3.ProxyManager, proxy)
    headers = {"User-Agent": "git/echo"}
    return made(cert_reqs="CERT_REQUIRED", ca_certs=policy.ca_file, headers=headers, timeout=timeout, retries=retries)


class _BoundedClient(HttpGitClient):
    """Asks smart servers only, and stops reading after so many bytes or seconds.

    Args:
        url: of the repository.
        pool: makes the connections.
        limits: bounds.
    """

    def __init__(self, url: str, pool: Any, limits: CodexLimits) -> None:
        super().__init__(url, pool_manager=pool, quiet=True, timeout=limits.clone_s)
        self._limits = limits
        self._left_bytes = limits.pack_bytes
        self._until_s = time.monotonic() + limits.clone_total_s

    def _http_request(self, *args: Any, **kwargs: Any) -> Any:
        response, _ = super()._http_request(*args, **kwargs)
        # A server of plain files would be asked for one object after the other.
        if not str(response.headers.get("Content-Type")).startswith("application/x-git-"):
            response.close()
            raise RemoteFailedError("no Git server")
        return response, partial(self._read, response)

    def _read(self, response: Any, size: int) -> bytes:
        from urllib3.exceptions import HTTPError

        read = bytearray()
        while len(read) < size:
            if time.monotonic() > self._until_s:
                raise RemoteFailedError(f"not done after {self._limits.clone_total_s:g} s")
            try:
                piece = response.read1(min(size - len(read), _CHUNK))
            except HTTPError as error:
                raise GitProtocolError(str(error)) from error
            if not piece:
                break
            read += piece
            self._left_bytes -= len(piece)
            if self._left_bytes < 0:
                raise CodexLimitError(what="clone", limit=f"{self._limits.pack_bytes} bytes")
        return bytes(read)


class _NoHistory:
    """The graph walker of an empty repository: it has nothing to offer."""

    def __init__(self) -> None:
        self.shallow: set[ObjectID] = set()
        self.unshallow: set[ObjectID] = set()

    def __next__(self) -> None:
        return None

    def next(self) -> None:
        return None

    def ack(self, sha: ObjectID) -> None:
        """Nothing was offered, so nothing is in common."""

    def nak(self) -> None:
        """Nothing was offered."""


def _wants(refs: Any, depth: int | None = None) -> list[ObjectID]:
    return sorted({sha for ref, sha in refs.items() if sha and (ref.startswith((_HEADS, _TAGS)) or ref == HEADREF)})


def _receive(target: Repository, fetch: Callable[[Callable[[bytes], int]], FetchPackResult]) -> FetchPackResult:
    """Take a pack in, and into the store only when its objects are within the limits."""
    limits = target.limits
    file, keep, drop = target.store.add_pack()
    try:
        result = fetch(file.write)
        received = file.tell() > 0
        if received:
            require_bounded_pack(file, object_bytes=limits.file_bytes, total_bytes=limits.unpacked_bytes)
            file.seek(0, 2)
    except BaseException:
        drop()
        raise
    (keep if received else drop)()
    return result


def _settle(target: Repository, refs: dict[Any, ObjectID], symrefs: dict[Any, Any], label: str) -> None:
    """Set branches, tags and HEAD, and check out."""
    branches = {ref: sha for ref, sha in refs.items() if ref.startswith(_HEADS)}
    for ref, sha in refs.items():
        if ref.startswith((_HEADS, _TAGS)) and not ref.endswith(b"^{}"):
            target.repo.refs.set_if_equals(Ref(ref), None, sha)
    default = symrefs.get(HEADREF)
    if default not in branches:
        head = refs.get(HEADREF)
        same = sorted(ref for ref, sha in branches.items() if sha == head)
        default = next(iter(same or sorted(branches)), None)
    if default is None:
        return
    target.repo.refs.set_symbolic_ref(
        HEADREF, Ref(default), committer=COMMITTER, message=b"clone: from " + label.encode()
    )
    target.check_out({}, target.flat(branches[default]))
