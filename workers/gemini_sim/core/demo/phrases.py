"""What the demo model says, in both languages."""

from typing import Final

from echo_constants import Bilingual

REPORT: Final = Bilingual(
    en=(
        "**Simulated answer** (no Gemini key is in use).\n\n"
        "You wrote: “{quote}”\n\n"
        "| what I received | value |\n|---|---|\n"
        "| turns | {turns} |\n"
        "| prompt tokens | {prompt_tokens} |\n"
        "| from the cache | {cached_tokens} ({share}) |\n"
        "| signatures, of them valid | {signatures}, {signatures_valid} |\n"
        "| attachments | {attachments} |\n"
        "| tools declared | {tools} |\n\n"
        'Try `call NAME {{"arg": 1}}`, `write 300 words` or `draw a cat`.'
    ),
    fr=(
        "**Réponse simulée** (aucune clé Gemini n'est utilisée).\n\n"
        "Vous avez écrit : « {quote} »\n\n"
        "| ce que j'ai reçu | valeur |\n|---|---|\n"
        "| tours | {turns} |\n"
        "| jetons de la requête | {prompt_tokens} |\n"
        "| venant du cache | {cached_tokens} ({share}) |\n"
        "| signatures, dont valides | {signatures}, {signatures_valid} |\n"
        "| pièces jointes | {attachments} |\n"
        "| outils déclarés | {tools} |\n\n"
        'Essayez `appelle NOM {{"arg": 1}}`, `écris 300 mots` ou `dessine un chat`.'
    ),
)
SHARE: Final = Bilingual(en="{percent} %", fr="{percent} %")
BELOW_CACHE: Final = Bilingual(
    en="the cache of this model starts at {minimum} tokens",
    fr="le cache de ce modèle commence à {minimum} jetons",
)

TOOL_SAID: Final = Bilingual(en="**`{name}`** answered:\n\n{value}", fr="**`{name}`** a répondu :\n\n{value}")
NO_TOOL: Final = Bilingual(
    en="I would gladly call `{name}`, but this chat has no tool of that name.",
    fr="J'appellerais volontiers `{name}`, mais cette conversation n'a aucun outil de ce nom.",
)
TOOLS_HERE: Final = Bilingual(
    en="The tools I can call here: {tools}.", fr="Les outils que je peux appeler ici : {tools}."
)
NO_TOOLS_HERE: Final = Bilingual(
    en="No tool is switched on in this chat.", fr="Aucun outil n'est activé dans cette conversation."
)
#: Source: the places as Open WebUI 0.12 names them; the button beside the message box has no French name.
ADD_TOOL: Final = Bilingual(
    en=(
        "To add one: open **Integrations** below the message box, then **Tools**, and switch it on. If it is not in "
        "that list, an administrator can add it under **Workspace → Tools**, or connect a tool server in the admin "
        "settings. Then ask me again."
    ),
    fr=(
        "Pour en ajouter un : ouvrez **Integrations** sous la zone de message, puis **Outils**, et activez-le. S'il "
        "n'est pas dans cette liste, un administrateur peut l'ajouter dans **Espace de travail → Outils**, ou relier "
        "un serveur d'outils dans les paramètres d'administration. Demandez-moi ensuite à nouveau."
    ),
)

TURNS_ONE: Final = Bilingual(en="1 turn", fr="1 tour")
TURNS_MANY: Final = Bilingual(en="{turns} turns", fr="{turns} tours")
THOUGHT: Final = Bilingual(
    en=(
        "**Reading the request**\n\nThe user writes: “{quote}”\n\nThe chat has {turns} so far, and this message is "
        "the one to answer.\n\n\n"
        "**Choosing the answer**\n\nI look for a tool to call, a text to write or an image to draw. If the message "
        "asks for none of these, I tell what arrived here, so that the user sees what a real model would get.\n\n\n"
    ),
    fr=(
        "**Lecture de la demande**\n\nL'utilisateur écrit : « {quote} »\n\nLa conversation compte {turns} jusqu'ici, "
        "et c'est à ce message qu'il faut répondre.\n\n\n"
        "**Choix de la réponse**\n\nJe cherche un outil à appeler, un texte à écrire ou une image à dessiner. Si le "
        "message ne demande rien de tel, je dis ce qui est arrivé ici, pour que l'utilisateur voie ce qu'un vrai "
        "modèle recevrait.\n\n\n"
    ),
)
THOUGHT_GOING_ON: Final = Bilingual(
    en="**Going on**\n\nThe last message stopped; I take it up there and write a further paragraph.\n\n\n",
    fr="**Suite**\n\nLe dernier message s'est arrêté ; je le reprends là et j'écris un paragraphe de plus.\n\n\n",
)
CAPPED: Final = Bilingual(
    en="The demo writes {most} words at most, so that the page stays quick; here they are.\n\n",
    fr="La démonstration écrit {most} mots au plus, pour que la page reste fluide ; les voici.\n\n",
)
IMAGE_DONE: Final = Bilingual(en="Here is the image.", fr="Voici l'image.")
