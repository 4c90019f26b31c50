"""Why a document cannot be read: each a sentence for the user and what to do about it."""

from typing import ClassVar, Final

from echo_constants import Bilingual, EchoError, Locale, ModelFeedbackError, StateError


class DocumentError(StateError):
    """A document cannot be read; the field `name` is its name."""

    code: ClassVar[str] = "document"
    audience = "user"
    api_status: ClassVar[int] = 422
    message: ClassVar[Bilingual] = Bilingual(en="{name} cannot be read.", fr="{name} est illisible.")
    remedy: ClassVar[Bilingual] = Bilingual(
        en="Open it in the program that made it, save it anew and attach it again.",
        fr="Ouvrez-le dans le programme d'origine, enregistrez-le à nouveau et rejoignez-le.",
    )

    @property
    def sentence(self) -> Bilingual:
        """What happened and what to do, with the fields of both."""
        return Bilingual(en=f"{self.message.en} {self.remedy.en}", fr=f"{self.message.fr} {self.remedy.fr}")

    def told(self, locale: Locale, name: str) -> str:
        """The sentence and its remedy about a file of this name."""
        fields = {**self.fields, "name": name}
        return f"{self.message.render(locale, **fields)} {self.remedy.render(locale, **fields)}"


class EmptyDocument(DocumentError):
    """There is nothing in it."""

    code = "document_empty"
    message = Bilingual(en="{name} has no content.", fr="{name} n'a pas de contenu.")
    remedy = Bilingual(en="Check that it was saved completely.", fr="Vérifiez qu'il a été enregistré en entier.")


class DamagedDocument(DocumentError):
    """Its format is known, and it breaks it."""

    code = "document_damaged"
    message = Bilingual(en="{name} is damaged ({kind}).", fr="{name} est endommagé ({kind}).")


class LockedDocument(DocumentError):
    """It needs a password."""

    code = "document_locked"
    message = Bilingual(en="{name} is protected by a password.", fr="{name} est protégé par un mot de passe.")
    remedy = Bilingual(en="Attach it without protection.", fr="Joignez-le sans protection.")


class DocumentBomb(DocumentError):
    """It would grow to many times its size."""

    code = "document_bomb"
    message = Bilingual(
        en="{name} unpacks to far more than it may, as files made to do harm do; it was not opened.",
        fr="{name} se décompresse bien au-delà de la limite, comme un fichier malveillant ; il n'a pas été ouvert.",
    )
    remedy = Bilingual(en="Attach what is inside one by one.", fr="Joignez séparément les fichiers qu'il contient.")


class HugeDocument(DocumentError):
    """It is larger than what is converted."""

    code = "document_too_large"
    message = Bilingual(
        en="{name} ({size_mb} MB) is too large to be read; the most is {most_mb} MB.",
        fr="{name} ({size_mb} Mo) est trop volumineux pour être lu ; le maximum est de {most_mb} Mo.",
    )
    remedy = Bilingual(en="Split it.", fr="Divisez-le.")


class SlowDocument(DocumentError):
    """Reading it takes longer than it may."""

    code = "document_too_slow"
    message = Bilingual(
        en="Reading {name} took more than {limit_s} s and was stopped.",
        fr="La lecture de {name} a dépassé {limit_s} s et a été arrêtée.",
    )
    remedy = Bilingual(
        en="Attach a part of it, or the same content in a simpler format.",
        fr="Joignez-en une partie, ou le même contenu dans un format plus simple.",
    )


class HeavyDocument(DocumentError):
    """Reading it takes more memory than it may, or broke the reader."""

    code = "document_too_heavy"
    message = Bilingual(
        en="Reading {name} needs more memory than allowed and was stopped.",
        fr="La lecture de {name} demande plus de mémoire que permis et a été arrêtée.",
    )
    remedy = SlowDocument.remedy


class UnknownDocument(DocumentError):
    """ECHO has no reader for such a file."""

    code = "document_unknown_type"
    message = Bilingual(en="ECHO cannot read {name} ({kind}).", fr="ECHO ne sait pas lire {name} ({kind}).")
    remedy = Bilingual(
        en="Save it as PDF, DOCX, XLSX, PPTX, HTML, CSV or text and attach that.",
        fr="Enregistrez-le en PDF, DOCX, XLSX, PPTX, HTML, CSV ou texte et joignez ce fichier.",
    )


class ReaderMissing(DocumentError):
    """A library that reads such files is not installed, as in a bundle without pip."""

    code = "document_reader_missing"
    message = Bilingual(
        en="This server lacks the library that reads {name} ({module}).",
        fr="Il manque à ce serveur la bibliothèque qui lit {name} ({module}).",
    )
    remedy = Bilingual(
        en="Ask the administrator to install ECHO's packages.",
        fr="Demandez à l'administrateur d'installer les paquets d'ECHO.",
    )


class DocumentToolError(ModelFeedbackError):
    """What the model asked of a document cannot be done."""

    code: ClassVar[str] = "document_request"
    message: ClassVar[Bilingual] = Bilingual(en="{why}", fr="{why}")
    remedy: ClassVar[Bilingual] = Bilingual(en="Correct the call.", fr="Corrigez l'appel.")


class DocumentMissing(DocumentToolError):
    """No such document is this user's."""

    code = "document_missing"
    message = Bilingual(
        en="The user has no document with the id {id}.", fr="L'utilisateur n'a pas de document d'identifiant {id}."
    )
    remedy = Bilingual(
        en="Use an id from a document preview of this chat, or ask the user to attach the file again.",
        fr="Prenez un identifiant donné par un aperçu de cette conversation, ou faites rejoindre le fichier.",
    )


class BadRange(DocumentToolError):
    """A range that cannot be read."""

    code = "document_range"
    remedy = Bilingual(
        en='Give "pages 3-5", "slide 2", "section 4", "sheet Name rows 10-50" or characters such as "0-20000".',
        fr='Donnez "pages 3-5", "slide 2", "section 4", "sheet Nom rows 10-50" ou des caractères comme "0-20000".',
    )


class BadQuery(DocumentToolError):
    """SQL that was refused or failed."""

    code = "document_query"
    remedy = Bilingual(
        en="Write one SELECT over the tables that the document lists; quote names with double quotes.",
        fr="Écrivez un SELECT sur les tables du document ; mettez les noms entre guillemets doubles.",
    )


#: By the code that the reading process sends. Source: `_child`.
BY_CODE: Final[dict[str, type[EchoError]]] = {
    cls.code: cls
    for cls in (
        DocumentError, EmptyDocument, DamagedDocument, LockedDocument, DocumentBomb, HugeDocument, SlowDocument,
        HeavyDocument, UnknownDocument, ReaderMissing, BadQuery,
    )
}  # fmt: skip
