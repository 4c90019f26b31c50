"""The vault of whoever asks, as the administrator wants it kept, and its clean-up when chats go."""

from collections.abc import Iterator
from contextlib import suppress

from anyio import to_thread

from echo_paths import EchoPaths, TemporaryChatError, UnsafeIdError
from echo_runtime.call import PipeCall
from echo_state_manager import SecretSeal
from echo_state_manager.crypto import MasterSecret
from echo_state_manager.vault import Vault


class Vaults:
    """Vaults of all users; also a `PurgePort`.

    Args:
        paths: the data folder.
        secret: the instance's; None leaves files as they are.
    """

    def __init__(self, paths: EchoPaths, secret: MasterSecret | None) -> None:
        self._paths = paths
        self._secret = secret

    def of(self, call: PipeCall) -> Vault:
        """The caller's own vault, for the chat that the call belongs to."""
        return Vault(
            self._paths,
            call.user_id,
            call.chat_id if call.is_saved else "",
            secret=self._secret,
            encrypts=self.encrypts(call),
        )

    def encrypts(self, call: PipeCall) -> bool:
        """Whether the administrator wants what is kept for a call encrypted, and there is a secret for that."""
        return self._secret is not None and bool(getattr(call.valves, "ENCRYPT_RECORDS", False))

    @property
    def seal(self) -> SecretSeal | None:
        """Encrypts what is read out of files; None without a secret."""
        return None if self._secret is None else SecretSeal(self._secret)

    async def purge(self, user_id: str, chat_id: str) -> None:
        """Remove the files that only this chat named, whoever of its writers attached them."""
        with suppress(TemporaryChatError, UnsafeIdError):  # such chats have no files
            for owner in await self._owners():
                await self._vault(owner).forget_chat(chat_id)

    async def forget_upload(self, file_id: str) -> list[tuple[str, str]]:
        """Remove what only this upload of Open WebUI was; (user id, digest) of each file that went."""
        gone: list[tuple[str, str]] = []
        for owner in await self._owners():
            gone += [(owner, sha256) for sha256 in await self._vault(owner).forget_upload(file_id)]
        return gone

    async def upload_ids(self) -> set[str]:
        """The uploads of Open WebUI that kept files were."""
        return {one for owner in await self._owners() for one in await self._vault(owner).upload_ids()}

    async def _owners(self) -> list[str]:
        return await to_thread.run_sync(lambda: list(self._paths.users_on_disk()))

    def _vault(self, owner: str) -> Vault:
        return Vault(self._paths, owner, secret=self._secret)

    async def chats(self) -> list[tuple[str, str]]:
        """(user id, chat id) of every chat that files are kept for."""
        return await to_thread.run_sync(lambda: list(_chats(self._paths)))


def _chats(paths: EchoPaths) -> Iterator[tuple[str, str]]:
    yield from dict.fromkeys(paths.chats_of_files())
