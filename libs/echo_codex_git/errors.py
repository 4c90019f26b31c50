"""What the codex refuses and why; each goes to the model as a tool result, which can then do something else.

CodexError
├── WorkspaceNameError, WorkspaceMissingError, WorkspaceExistsError, WorkspaceBusyError, WorkspaceDamagedError,
│   NotConfirmedError
├── UnsafePathError, FileMissingError, NotTextError, CodexLimitError
├── BranchNameError, BranchMissingError, BranchExistsError, RevisionMissingError
├── NothingToCommitError, UncommittedChangesError, MergeUnfinishedError, ConflictsLeftError, MergeRefusedError
├── PatchRejectedError
└── RemoteRefusedError, RemoteFailedError
"""

from echo_constants import Bilingual, ModelFeedbackError


class CodexError(ModelFeedbackError):
    """Root of what the codex refuses."""

    code = "codex"
    message = Bilingual(en="The codex could not do that.", fr="Le codex n'a pas pu faire cela.")
    remedy = Bilingual(en="Look at the workspace's status.", fr="Regardez l'état de l'espace de travail.")


class WorkspaceNameError(CodexError):
    """A name that no workspace may have."""

    code = "codex_workspace_name"
    message = Bilingual(en="No workspace can have this name.", fr="Aucun espace de travail ne peut porter ce nom.")
    remedy = Bilingual(
        en="Use 1 to 64 lower-case letters, digits, hyphens or underscores, a letter or digit first.",
        fr="Utilisez 1 à 64 minuscules, chiffres, traits d'union ou soulignés, en commençant par une lettre ou un "
        "chiffre.",
    )


class WorkspaceMissingError(CodexError):
    """There is no such workspace of this user."""

    code = "codex_workspace_missing"
    message = Bilingual(en="There is no workspace {name}.", fr="Il n'y a pas d'espace de travail {name}.")
    remedy = Bilingual(
        en="List the workspaces, or make one first.", fr="Listez les espaces de travail, ou créez-en un d'abord."
    )


class WorkspaceExistsError(CodexError):
    """The name is taken."""

    code = "codex_workspace_exists"
    message = Bilingual(en="A workspace {name} exists already.", fr="Un espace de travail {name} existe déjà.")
    remedy = Bilingual(en="Use it, or choose another name.", fr="Utilisez-le, ou choisissez un autre nom.")


class WorkspaceBusyError(CodexError):
    """Another operation holds the workspace for too long."""

    code = "codex_workspace_busy"
    retryable = True
    message = Bilingual(
        en="Another operation works on this workspace.", fr="Une autre opération travaille sur cet espace de travail."
    )
    remedy = Bilingual(en="Try again in a moment.", fr="Réessayez dans un instant.")


class WorkspaceDamagedError(CodexError):
    """The repository on the disk is not whole."""

    code = "codex_workspace_damaged"
    message = Bilingual(
        en="The repository of this workspace is damaged.", fr="Le dépôt de cet espace de travail est abîmé."
    )
    remedy = Bilingual(
        en="Nothing was changed. Tell the user; `git fsck` in the folder names what is missing.",
        fr="Rien n'a été modifié. Dites-le à l'utilisateur ; `git fsck` dans le dossier nomme ce qui manque.",
    )


class NotConfirmedError(CodexError):
    """A deletion without its confirmation."""

    code = "codex_not_confirmed"
    message = Bilingual(en="Deleting {name} was not confirmed.", fr="La suppression de {name} n'a pas été confirmée.")
    remedy = Bilingual(
        en="Ask the user; then give the workspace's name as `confirm` too.",
        fr="Demandez à l'utilisateur ; puis donnez aussi le nom de l'espace de travail dans `confirm`.",
    )


class UnsafePathError(CodexError):
    """A path that leads out of the workspace, through a link, or into `.git`."""

    code = "codex_unsafe_path"
    message = Bilingual(
        en="The path {path} is refused: it leaves the workspace, goes through a symbolic link, or touches .git.",
        fr="Le chemin {path} est refusé : il sort de l'espace de travail, passe par un lien symbolique ou touche .git.",
    )
    remedy = Bilingual(
        en="Use a relative path with / between plain names.",
        fr="Utilisez un chemin relatif, avec / entre des noms simples.",
    )


class FileMissingError(CodexError):
    """No file there."""

    code = "codex_file_missing"
    message = Bilingual(en="There is no file {path}.", fr="Il n'y a pas de fichier {path}.")
    remedy = Bilingual(en="List the files.", fr="Listez les fichiers.")


class NotTextError(CodexError):
    """The file is not UTF-8 text."""

    code = "codex_not_text"
    message = Bilingual(en="{path} is not a text file in UTF-8.", fr="{path} n'est pas un fichier texte en UTF-8.")
    remedy = Bilingual(en="It can be kept, but not read here.", fr="Il peut être conservé, mais pas lu ici.")


class CodexLimitError(CodexError):
    """A size or a number is bounded."""

    code = "codex_limit"
    message = Bilingual(en="Too much: {what} may be at most {limit}.", fr="Trop : {what} est limité à {limit}.")
    remedy = Bilingual(en="Use less, or delete what is not needed.", fr="Réduisez, ou supprimez ce qui ne sert pas.")


class BranchNameError(CodexError):
    """Git would not take this name."""

    code = "codex_branch_name"
    message = Bilingual(en="No branch can have this name.", fr="Aucune branche ne peut porter ce nom.")
    remedy = Bilingual(
        en="Use letters, digits, hyphens and single slashes.",
        fr="Utilisez des lettres, chiffres, traits d'union et barres obliques simples.",
    )


class BranchMissingError(CodexError):
    """No such branch."""

    code = "codex_branch_missing"
    message = Bilingual(en="There is no branch {name}.", fr="Il n'y a pas de branche {name}.")
    remedy = Bilingual(en="List the branches.", fr="Listez les branches.")


class BranchExistsError(CodexError):
    """The name is taken."""

    code = "codex_branch_exists"
    message = Bilingual(
        en="The branch {name}, or one whose name is a part of it, exists already.",
        fr="La branche {name}, ou une dont le nom en est une partie, existe déjà.",
    )
    remedy = Bilingual(en="Switch to it, or choose another name.", fr="Passez-y, ou choisissez un autre nom.")


class RevisionMissingError(CodexError):
    """Neither a branch nor a commit."""

    code = "codex_revision_missing"
    message = Bilingual(en="There is no commit or branch {name}.", fr="Il n'y a ni commit ni branche {name}.")
    remedy = Bilingual(en="Look at the log.", fr="Regardez le journal.")


class NothingToCommitError(CodexError):
    """Everything is committed."""

    code = "codex_nothing_to_commit"
    message = Bilingual(en="Nothing has changed since the last commit.", fr="Rien n'a changé depuis le dernier commit.")
    remedy = Bilingual(en="Write files first.", fr="Écrivez d'abord des fichiers.")


class UncommittedChangesError(CodexError):
    """Work that would be lost."""

    code = "codex_uncommitted"
    message = Bilingual(
        en="These files have changes that would be lost: {paths}.",
        fr="Ces fichiers ont des modifications qui seraient perdues : {paths}.",
    )
    remedy = Bilingual(en="Commit them first.", fr="Faites-en d'abord un commit.")


class MergeUnfinishedError(CodexError):
    """A merge waits for its commit."""

    code = "codex_merge_unfinished"
    message = Bilingual(en="A merge is not finished.", fr="Une fusion n'est pas terminée.")
    remedy = Bilingual(en="Resolve it and commit, or abort it.", fr="Résolvez-la et faites le commit, ou annulez-la.")


class ConflictsLeftError(CodexError):
    """Conflict markers are still in files."""

    code = "codex_conflicts_left"
    message = Bilingual(
        en="Conflicts are not resolved in: {paths}.", fr="Des conflits ne sont pas résolus dans : {paths}."
    )
    remedy = Bilingual(
        en="Write each of these files without <<<<<<< and >>>>>>> markers, or delete it; then commit.",
        fr="Écrivez chacun de ces fichiers sans marques <<<<<<< et >>>>>>>, ou supprimez-le ; puis faites le commit.",
    )


class MergeRefusedError(CodexError):
    """A merge in which a file meets a folder of the same name."""

    code = "codex_merge_refused"
    message = Bilingual(
        en="These branches cannot be merged: {path} is a file in one and a folder in the other.",
        fr="Ces branches ne peuvent pas être fusionnées : {path} est un fichier dans l'une et un dossier dans l'autre.",
    )
    remedy = Bilingual(
        en="Rename one of them and commit, then merge again.",
        fr="Renommez l'un des deux, faites le commit, puis fusionnez à nouveau.",
    )


class PatchRejectedError(CodexError):
    """A patch that does not fit; nothing was changed."""

    code = "codex_patch_rejected"
    message = Bilingual(
        en="The patch does not fit; nothing was changed. Place: {place}.",
        fr="Le correctif ne s'applique pas ; rien n'a été modifié. Endroit : {place}.",
    )
    remedy = Bilingual(
        en="Read the file and make a unified diff of what it holds now.",
        fr="Lisez le fichier et faites un diff unifié à partir de son contenu actuel.",
    )


class RemoteRefusedError(CodexError):
    """A remote that may not be cloned."""

    code = "codex_remote_refused"
    message = Bilingual(
        en="This address may not be cloned from.", fr="Le clonage depuis cette adresse n'est pas permis."
    )
    remedy = Bilingual(
        en="Allowed are https:// addresses of public hosts without a password in them, and the user's own workspaces "
        "by name. An administrator can allow more in the toolkit's valves.",
        fr="Sont permis les adresses https:// d'hôtes publics sans mot de passe, et les propres espaces de travail de "
        "l'utilisateur par leur nom. Un administrateur peut en permettre d'autres dans les vannes de l'outil.",
    )


class RemoteFailedError(CodexError):
    """The remote did not give a usable repository; nothing is left behind."""

    code = "codex_remote_failed"
    retryable = True
    message = Bilingual(
        en="The repository could not be cloned; nothing was kept.",
        fr="Le dépôt n'a pas pu être cloné ; rien n'a été conservé.",
    )
    remedy = Bilingual(
        en="Check the address; private repositories are not supported.",
        fr="Vérifiez l'adresse ; les dépôts privés ne sont pas pris en charge.",
    )
