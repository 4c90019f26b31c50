"""What skills refuse and why; each goes to the model as a tool result."""

from echo_constants import Bilingual, ModelFeedbackError


class SkillError(ModelFeedbackError):
    """Root of what skills refuse."""

    code = "skill"
    message = Bilingual(en="The skill could not be used.", fr="La compétence n'a pas pu être utilisée.")
    remedy = Bilingual(en="Search the skills again.", fr="Cherchez à nouveau parmi les compétences.")


class SkillMissingError(SkillError):
    """No skill of that name that this user may read."""

    code = "skill_missing"
    message = Bilingual(en="There is no skill {name}.", fr="Il n'y a pas de compétence {name}.")
    remedy = Bilingual(en="Search for it with other words.", fr="Cherchez-la avec d'autres mots.")


class SkillFileMissingError(SkillError):
    """The skill has no such file."""

    code = "skill_file_missing"
    message = Bilingual(
        en="The skill {name} has no text file {path}.", fr="La compétence {name} n'a pas de fichier texte {path}."
    )
    remedy = Bilingual(
        en="Read the skill without a file name: it lists its files.",
        fr="Lisez la compétence sans nom de fichier : elle donne la liste de ses fichiers.",
    )


class SkillExistsError(SkillError):
    """The name is taken, and nobody asked to change that skill."""

    code = "skill_exists"
    message = Bilingual(en="A skill {name} exists already.", fr="Une compétence {name} existe déjà.")
    remedy = Bilingual(
        en="Choose another name, or say that it is to be updated.",
        fr="Choisissez un autre nom, ou dites qu'elle doit être mise à jour.",
    )


class SkillNameError(SkillError):
    """A name outside the public format."""

    code = "skill_name"
    message = Bilingual(en="No skill can have this name.", fr="Aucune compétence ne peut porter ce nom.")
    remedy = Bilingual(
        en="Use 1 to 64 lower-case letters, digits and single hyphens, with a letter or digit at both ends.",
        fr="Utilisez 1 à 64 minuscules, chiffres et traits d'union simples, avec une lettre ou un chiffre aux deux "
        "bouts.",
    )


class SkillFormatError(SkillError):
    """A SKILL.md that does not follow the public format."""

    code = "skill_format"
    message = Bilingual(
        en="This is no valid SKILL.md; field: {field}.", fr="Ce n'est pas un SKILL.md valide ; champ : {field}."
    )
    remedy = Bilingual(
        en="Give a name, a description of 1 to 1024 characters and instructions.",
        fr="Donnez un nom, une description de 1 à 1024 caractères et des instructions.",
    )


class SkillLimitError(SkillError):
    """A size or a number is bounded."""

    code = "skill_limit"
    message = Bilingual(en="Too much: {what} may be at most {limit}.", fr="Trop : {what} est limité à {limit}.")
    remedy = Bilingual(en="Make the skill smaller.", fr="Réduisez la compétence.")


class SharedSkillsError(SkillError):
    """Only administrators write skills for everybody."""

    code = "skill_shared_refused"
    message = Bilingual(
        en="Only an administrator can write a skill for all users.",
        fr="Seul un administrateur peut écrire une compétence pour tous les utilisateurs.",
    )
    remedy = Bilingual(
        en="Make it a skill of this user instead.", fr="Faites-en plutôt une compétence de cet utilisateur."
    )
