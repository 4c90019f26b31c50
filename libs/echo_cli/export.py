"""`echoctl export` and `echoctl import`: the records of chats in one file, for where the chats themselves go."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import typer

from echo_cli._app import command
from echo_cli._chat_export import Contents, Manifest, Words, check_export, images_of, write_export
from echo_cli._chat_files import ChatOption, UserOption, chat_files
from echo_cli._data_dir import DataOption, data_dir_here
from echo_cli._exit_codes import ExitCode
from echo_cli._locale import say, tr
from echo_cli._output import JsonFlag
from echo_cli._secret import secret_of
from echo_constants import Bilingual, ConfigError
from echo_http import SystemClock
from echo_paths import EchoPaths
from echo_state_manager import SessionStores, Taken, opened_image, take_over
from echo_state_manager.crypto import MasterSecret

#: Carries a passphrase past the process list.
PASSPHRASE_VARIABLE: Final = "ECHO_EXPORT_PASSPHRASE"  # noqa: S105 - a name


class ExportChoiceError(ConfigError):
    """It is not clear whose records are meant."""

    code: ClassVar[str] = "export_choice"
    message: ClassVar[Bilingual] = Bilingual(
        en="One file holds the chats of one user; it is not clear whose.",
        fr="Un fichier contient les conversations d'un seul utilisateur ; on ne sait pas lequel.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give --chat with a chat's id (from its address, /c/<id>), or --user with a user's id.",
        fr="Donnez --chat avec l'identifiant d'une conversation (dans son adresse, /c/<id>) ou --user avec celui d'un "
        "utilisateur.",
    )


class ExportKeyError(ConfigError):
    """There is nothing to encrypt the file with."""

    code: ClassVar[str] = "export_key"
    message: ClassVar[Bilingual] = Bilingual(
        en="There is no key for the file: it is always encrypted.",
        fr="Il n'y a pas de clé pour le fichier : il est toujours chiffré.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give --passphrase-file with a file that holds a passphrase (or ECHO_EXPORT_PASSPHRASE), or set "
        "WEBUI_SECRET_KEY as for Open WebUI.",
        fr="Donnez --passphrase-file avec un fichier contenant une phrase secrète (ou ECHO_EXPORT_PASSPHRASE), ou "
        "définissez WEBUI_SECRET_KEY comme pour Open WebUI.",
    )


class ImportOwnerError(ConfigError):
    """The file is another user's, and nobody said that this is meant."""

    code: ClassVar[str] = "import_owner"
    exit_code: ClassVar[ExitCode] = ExitCode.DECLINED
    message: ClassVar[Bilingual] = Bilingual(
        en="The records belong to the user {owner}; nothing was imported for {target}.",
        fr="Les enregistrements appartiennent à l'utilisateur {owner} ; rien n'a été importé pour {target}.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="If it is the same person with another id here, say so: --to {target} --from {owner}",
        fr="Si c'est la même personne sous un autre identifiant, dites-le : --to {target} --from {owner}",
    )


class ImportUserUnknownError(ConfigError):
    """The owner of the file is nobody here."""

    code: ClassVar[str] = "import_user_unknown"
    message: ClassVar[Bilingual] = Bilingual(
        en="The records belong to the user {owner}, of whom ECHO knows nothing here. Nothing was imported.",
        fr="Les enregistrements appartiennent à l'utilisateur {owner}, inconnu d'ECHO ici. Rien n'a été importé.",
    )
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Give the id that this person has here: --to <id> --from {owner}. It stands in Open WebUI's list of users "
        "(admin panel, Users; the address of GET /api/v1/users). If the id is the same here: --to {owner}",
        fr="Donnez l'identifiant que cette personne a ici : --to <id> --from {owner}. Il figure dans la liste des "
        "utilisateurs d'Open WebUI (GET /api/v1/users). Si l'identifiant est le même ici : --to {owner}",
    )


PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        exists=True,
        dir_okay=False,
        help=say(
            "File that holds the passphrase of the export; without it, the secret of this installation is used.",
            "Fichier contenant la phrase secrète de l'export ; sinon, le secret de cette installation.",
        ),
    ),
]


def export(
    out: Annotated[Path, typer.Option("--out", help=say("File to make.", "Fichier à créer."))],
    user: UserOption = "",
    chat: ChatOption = "",
    passphrase_file: PassphraseOption = None,
    data: DataOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Write the records of one chat, or of all of one user's, into one encrypted file."""
    with command(json_mode) as output:
        if not (user or chat):
            raise ExportChoiceError
        root = data_dir_here(data)
        # The folders of callers without a chat, and of what was imported, belong to no chat that could be moved.
        files = [file for file in chat_files(root, user, chat) if not file.chat_id.startswith("_")]
        if len({file.user_id for file in files}) != 1:
            raise ExportChoiceError
        secret = secret_of(root)
        known = _words(secret, passphrase_file)
        if not known:
            raise ExportKeyError
        kind: Any = "passphrase" if "passphrase" in known else "secret"
        now = datetime.fromtimestamp(SystemClock().now_s(), tz=UTC).isoformat(timespec="seconds")
        words = Words(kind, known[kind])
        manifest = asyncio.run(write_export(files, out.absolute(), secret=secret, words=words, created_at=now))
        output.result(_export_facts(manifest, out, kind), _export_text(manifest, out, kind))


def import_(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help=say("File to read.", "Fichier à lire."))],
    to: Annotated[
        str,
        typer.Option(
            "--to", help=say("Id of the user to import for.", "Identifiant de l'utilisateur pour qui importer.")
        ),
    ] = "",
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            help=say(
                "Id of the user in the file, where it is another one than --to: both are the same person.",
                "Identifiant de l'utilisateur dans le fichier, s'il diffère de --to : c'est la même personne.",
            ),
        ),
    ] = "",
    passphrase_file: PassphraseOption = None,
    data: DataOption = None,
    json_mode: JsonFlag = False,
) -> None:
    """Take over the records of such a file for one user; Open WebUI may keep running."""
    with command(json_mode) as output:
        root = data_dir_here(data)
        secret = secret_of(root)
        words = _words(secret, passphrase_file)
        contents = check_export(file, words)
        owner = contents.manifest.owner_id
        target = _target(root, owner, to, from_)
        taken = asyncio.run(_import_all(root, file, words, contents, target, secret))
        output.result(_import_facts(contents, target, taken), _import_text(contents, target, taken))


def register(app: typer.Typer) -> None:
    """Add both commands to the application."""
    app.command(
        "export",
        help=say(
            "Copy the records of a chat, or of a user's chats, into one encrypted file.",
            "Copier les enregistrements d'une conversation, ou d'un utilisateur, dans un fichier chiffré.",
        ),
    )(export)
    app.command(
        "import",
        help=say(
            "Take over the records of such a file for the chats that Open WebUI imports.",
            "Reprendre les enregistrements d'un tel fichier pour les conversations importées dans Open WebUI.",
        ),
    )(import_)


def _words(secret: MasterSecret | None, passphrase_file: Path | None) -> dict[str, str]:
    """What files may be encrypted under here, by kind."""
    words = {} if secret is None else {"secret": secret.value}
    if passphrase_file is not None:
        words["passphrase"] = passphrase_file.read_text(encoding="utf-8").strip()
    elif os.environ.get(PASSPHRASE_VARIABLE):
        words["passphrase"] = os.environ[PASSPHRASE_VARIABLE]
    return {kind: value for kind, value in words.items() if value}


def _target(root: Path, owner: str, to: str, from_: str) -> str:
    """For whom the records are; never silently for somebody else than the one they belong to.

    Raises:
        ImportUserUnknownError: nobody was named, and their owner is nobody here.
        ImportOwnerError: somebody else was named, without saying whose they are.
    """
    if not to and not EchoPaths(root).user_dir(owner).is_dir():
        raise ImportUserUnknownError(owner=owner)
    target = to or owner
    if from_ not in ("", owner) or (target != owner and from_ != owner):
        raise ImportOwnerError(owner=owner, target=target)
    return target


async def _import_all(
    root: Path, file: Path, words: dict[str, str], contents: Contents, target: str, secret: MasterSecret | None
) -> Taken:
    chats = contents.manifest.chats
    # Everything is verified before anything is written.
    for chat, image in zip(chats, images_of(file, words), strict=True):
        async with opened_image(image, chat.chat_id):
            pass
    stores = SessionStores(EchoPaths(root), SystemClock(), secret)
    taken = Taken()
    try:
        # Whether the administrator wants encryption, only Open WebUI knows; encrypted they can be read either way.
        path = EchoPaths(root).imported_session_db(target)
        async with stores.open_file(path, encrypted=secret is not None) as store:
            for chat, image in zip(chats, images_of(file, words), strict=True):
                async with opened_image(image, chat.chat_id) as source:
                    taken = taken.plus(await take_over(source, store, f"{chat.chat_id}/"))
    finally:
        await stores.close()
    return taken


def _export_facts(manifest: Manifest, out: Path, kind: str) -> dict[str, Any]:
    return {
        "path": str(out),
        "owner": manifest.owner_id,
        "key": kind,
        "chats": [{"chat": chat.chat_id, "messages": chat.messages} for chat in manifest.chats],
    }


def _export_text(manifest: Manifest, out: Path, kind: str) -> str:
    text = Bilingual(
        en="{path}: {chats} chat(s), {messages} message(s) of user {owner}, encrypted under {key}.",
        fr="{path} : {chats} conversation(s), {messages} message(s) de l'utilisateur {owner}, chiffrés avec {key}.",
    )
    keys = {
        "passphrase": say("the passphrase", "la phrase secrète"),
        "secret": say("the secret of this installation", "le secret de cette installation"),
    }
    hint = say(
        "The chat itself is exported in Open WebUI (its menu, Download, Export chat (.json)).",
        "La conversation elle-même s'exporte dans Open WebUI (son menu, Télécharger, Exporter (.json)).",
    )
    messages = sum(chat.messages for chat in manifest.chats)
    shown = tr(text, path=out, chats=len(manifest.chats), messages=messages, owner=manifest.owner_id, key=keys[kind])
    return f"{shown}\n{hint}"


def _import_facts(contents: Contents, target: str, taken: Taken) -> dict[str, Any]:
    return {
        "owner": contents.manifest.owner_id,
        "user": target,
        "made_by": contents.header.echo_version,
        "created_at": contents.header.created_at,
        "chats": [chat.chat_id for chat in contents.manifest.chats],
        "added": taken.added,
        "restored": taken.restored,
        "known": taken.known,
        "kept": taken.kept,
    }


def _import_text(contents: Contents, target: str, taken: Taken) -> str:
    text = Bilingual(
        en="{chats} chat(s) of {created_at} (ECHO {made_by}) for user {target}: {added} message(s) taken over, {known} "
        "known already.",
        fr="{chats} conversation(s) du {created_at} (ECHO {made_by}) pour l'utilisateur {target} : {added} message(s) "
        "repris, {known} déjà connus.",
    )
    hint = say(
        "Now import the chats in Open WebUI as that user (Settings, Data controls, Import chats), if they are not "
        "there. The next turn of each takes its records over; what no chat asks for in 30 days is removed.",
        "Importez maintenant les conversations dans Open WebUI sous ce compte (Réglages, Contrôle des données, "
        "Importer), si elles n'y sont pas. Leur prochain tour reprend les enregistrements ; ce qu'aucune conversation "
        "ne demande sous 30 jours est effacé.",
    )
    header, chats = contents.header, len(contents.manifest.chats)
    fields = {"created_at": header.created_at, "made_by": header.echo_version, "target": target}
    return f"{tr(text, chats=chats, added=taken.added + taken.restored, known=taken.known, **fields)}\n{hint}"
