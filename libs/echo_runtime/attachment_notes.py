"""What a user is told about an attachment that cannot be sent, or not whole."""

from typing import Final

from echo_constants import Bilingual
from echo_runtime.pdfs import PdfFault

EMPTY: Final = Bilingual(en="{name} is empty and was left out.", fr="{name} est vide et a été écarté.")
GONE: Final = Bilingual(
    en="{name} can no longer be read in Open WebUI and was left out.",
    fr="{name} n'est plus lisible dans Open WebUI et a été écarté.",
)
NO_PICTURE: Final = Bilingual(
    en="{name} is damaged or no picture that can be opened; it was left out.",
    fr="{name} est endommagé ou n'est pas une image lisible ; elle a été écartée.",
)
NO_DATA: Final = Bilingual(
    en="The data of {name} cannot be read; it was left out.",
    fr="Les données de {name} sont illisibles ; il a été écarté.",
)
UNKNOWN_TYPE: Final = Bilingual(
    en="Gemini cannot read {name} ({kind}); it was left out.",
    fr="Gemini ne peut pas lire {name} ({kind}) ; il a été écarté.",
)
OTHER_SOURCE: Final = Bilingual(
    en="{name} ({kind}) cannot be read by this version of ECHO; it was left out.",
    fr="{name} ({kind}) ne peut pas être lu par cette version d'ECHO ; il a été écarté.",
)
TEXT_CUT: Final = Bilingual(
    en="Only the first {kept_kb} kB of {name} ({size_kb} kB) can be read in this version.",
    fr="Seuls les {kept_kb} premiers ko de {name} ({size_kb} ko) peuvent être lus dans cette version.",
)
TEXT_FULL: Final = Bilingual(
    en="{name} was left out: the text files of one message may have {most_kb} kB together.",
    fr="{name} a été écarté : les fichiers texte d'un message peuvent faire {most_kb} ko au total.",
)
TOO_LARGE: Final = Bilingual(
    en="{name} ({size_mb} MB) is too large and was left out; the most is {most_mb} MB.",
    fr="{name} ({size_mb} Mo) est trop volumineux et a été écarté ; le maximum est de {most_mb} Mo.",
)
PDF_FAULTS: Final = {
    PdfFault.LOCKED: Bilingual(
        en="{name} is protected by a password and was left out; attach it without protection.",
        fr="{name} est protégé par un mot de passe et a été écarté ; joignez-le sans protection.",
    ),
    PdfFault.BROKEN: Bilingual(
        en="{name} is damaged or has no pages; it was left out.",
        fr="{name} est endommagé ou n'a aucune page ; il a été écarté.",
    ),
    PdfFault.TOO_LONG: Bilingual(
        en="{name} has more than 1,000 pages and was left out; split it.",
        fr="{name} a plus de 1 000 pages et a été écarté ; divisez-le.",
    ),
}
FILE_VANISHED: Final = Bilingual(
    en="A file of this chat is no longer kept by ECHO, so the model does not see it any more; attach it again.",
    fr="Un fichier de cette conversation n'est plus conservé par ECHO : le modèle ne le voit plus ; joignez-le à "
    "nouveau.",
)
MEDIA_LEFT_OUT: Final = Bilingual(
    en="This conversation holds more pictures and sound than one request may have; the model no longer sees the oldest "
    "of them. Attach again what it should see.",
    fr="Cette conversation contient plus d'images et de sons qu'une requête n'en admet ; le modèle ne voit plus les "
    "plus anciens. Joignez à nouveau ce qu'il doit voir.",
)
VIDEO_REFUSED: Final = Bilingual(
    en="Google did not open a linked video (private, deleted or not allowed); the model does not see it.",
    fr="Google n'a pas ouvert une vidéo liée (privée, supprimée ou non autorisée) ; le modèle ne la voit pas.",
)
FILE_REFUSED: Final = Bilingual(
    en="Google could not process {name}; the model does not see it.",
    fr="Google n'a pas pu traiter {name} ; le modèle ne le voit pas.",
)
COLLECTION_CUT: Final = Bilingual(
    en="Of the {count} files of {name} the first {most} come with the question.",
    fr="Sur les {count} fichiers de {name}, les {most} premiers accompagnent la question.",
)
NOT_SEARCHED: Final = Bilingual(
    en="{name} is kept encrypted: it is read place by place and its tables are computed with, but it is not searched.",
    fr="{name} est conservé chiffré : il se lit passage par passage et ses tableaux se calculent, mais la recherche "
    "n'y porte pas.",
)
SEARCHED_IN_PART: Final = Bilingual(
    en="{name} is very long: its first {searched} of {chars} characters can be searched, the rest is read place by "
    "place.",
    fr="{name} est très long : la recherche porte sur ses {searched} premiers caractères sur {chars} ; le reste se lit "
    "passage par passage.",
)
READING: Final = Bilingual(en="Reading {name}…", fr="Lecture de {name}…")
READING_PERCENT: Final = Bilingual(en="Reading {name}… {percent} %", fr="Lecture de {name}… {percent} %")
READING_ROWS: Final = Bilingual(en="Reading {name}… {rows} rows", fr="Lecture de {name}… {rows} lignes")
READ: Final = Bilingual(en="{name} has been read.", fr="{name} est lu.")
UPLOADING: Final = Bilingual(en="Sending {name} to Google…", fr="Envoi de {name} à Google…")
UPLOADED: Final = Bilingual(en="{name} is at Google for 48 hours.", fr="{name} est chez Google pour 48 heures.")
#: Names of attachments that have none.
NAMELESS: Final = Bilingual(en="the attachment", fr="la pièce jointe")
