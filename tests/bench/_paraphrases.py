"""Questions and passages that say the same in other words, French and English, made by combination.

A passage tells one of 16 facts about one of 20 things at one of 9 sites. Its question names thing and fact by other
words; only the site is the same word, so that at most 30 % of a question's content words stand in its passage. All
other combinations are distractors, most of which share thing, fact or site with the answer, word for word.

The questions lie in two halves that share no thing, no fact and no site: weights are chosen with one (`tuning`) and
judged by the other (`held_out`).
"""

import random
from dataclasses import dataclass
from itertools import product
from typing import Final

from echo_memory.lexical import sparse_query

#: (question's words, passage's words) in French, then in English.
THINGS = [
    ("le camion", "ce véhicule utilitaire", "the truck", "this utility vehicle"),
    ("le logement", "cet appartement", "the dwelling", "this apartment"),
    ("l'imprimante", "cette machine à tirages papier", "the printer", "this paper output machine"),
    ("la chaudière", "cet appareil de chauffage", "the boiler", "this heating unit"),
    ("le médecin", "ce praticien de santé", "the doctor", "this health practitioner"),
    ("le toit", "cette couverture en tuiles", "the roof", "this tile covering"),
    ("l'ordinateur", "ce poste informatique", "the laptop", "this portable computer"),
    ("la pelouse", "ce gazon", "the lawn", "this stretch of grass"),
    ("le vélo", "cette bicyclette", "the bike", "this bicycle"),
    ("la caméra", "ce dispositif de vidéosurveillance", "the CCTV", "this surveillance video device"),
    ("l'ascenseur", "ce monte-charge pour personnes", "the elevator", "this passenger lift"),
    ("la piscine", "ce bassin de natation", "the pool", "this swimming basin"),
    ("le cuisinier", "ce chef aux fourneaux", "the cook", "this kitchen chef"),
    ("la voiture", "cette automobile", "the car", "this automobile"),
    ("le téléphone", "ce mobile de service", "the phone", "this mobile handset"),
    ("la bibliothèque", "cette salle de lecture", "the library", "this reading room"),
    ("le frigo", "ce réfrigérateur", "the fridge", "this refrigerator"),
    ("le gardien", "ce veilleur de nuit", "the guard", "this night watchman"),
    ("la clôture", "ce grillage d'enceinte", "the fence", "this perimeter mesh"),
    ("le stagiaire", "cet apprenti en formation", "the intern", "this young trainee"),
]
FACTS = [
    ("Combien coûte {t} à {s} ?", "À {s}, {t} revient à {n} euros tout compris.",
     "How expensive is {t} in {s}?", "In {s}, {t} is priced at {n} euros altogether."),
    ("Qui s'occupe de {t} à {s} ?", "À {s}, {t} relève de l'équipe {n}, seule responsable.",
     "Who looks after {t} in {s}?", "In {s}, {t} falls under team {n}, solely responsible."),
    ("Depuis quand {t} est-il là à {s} ?", "À {s}, {t} fut installé en l'an {n}.",
     "Since when has {t} been present in {s}?", "In {s}, {t} was installed during year {n}."),
    ("Où se trouve {t} à {s} ?", "À {s}, {t} occupe le bâtiment {n}, au fond de la cour.",
     "Where can one find {t} in {s}?", "In {s}, {t} occupies building {n}, behind the courtyard."),
    ("Pourquoi {t} a-t-il des ennuis à {s} ?", "À {s}, {t} souffre d'une panne causée par l'humidité, dossier {n}.",
     "Why does {t} have trouble in {s}?", "In {s}, {t} suffers a breakdown caused by damp, file {n}."),
    ("Quand contrôle-t-on {t} à {s} ?", "À {s}, {t} passera la prochaine vérification sous {n} jours.",
     "When do they inspect {t} in {s}?", "In {s}, {t} faces another checkup within {n} days."),
    ("Quelle couleur a {t} à {s} ?", "À {s}, {t} est peint en bleu, teinte {n}.",
     "What colour does {t} have in {s}?", "In {s}, {t} is painted blue, shade {n}."),
    ("Quel poids fait {t} à {s} ?", "À {s}, {t} pèse {n} kilos sur la balance.",
     "How heavy is {t} in {s}?", "In {s}, {t} weighs {n} kilograms overall."),
    ("Peut-on louer {t} à {s} ?", "À {s}, {t} se prête moyennant une caution, bail {n}.",
     "Could one rent {t} in {s}?", "In {s}, {t} is available for hire against deposit, contract {n}."),
    ("Comment protège-t-on {t} des voleurs à {s} ?", "À {s}, {t} bénéficie d'une alarme antivol, modèle {n}.",
     "How is {t} kept safe from thieves in {s}?", "In {s}, {t} enjoys an anti-burglary alarm, model {n}."),
    ("Quelle assurance couvre {t} à {s} ?", "À {s}, {t} est garanti par la police numéro {n} de la mutuelle.",
     "What insurance covers {t} in {s}?", "In {s}, {t} is guaranteed under mutual society policy {n}."),
    ("Que dit-on de {t} à {s} ?", "À {s}, {t} recueille l'avis satisfait de {n} clients.",
     "What do people say about {t} in {s}?", "In {s}, {t} earns satisfied opinions of {n} customers."),
    ("Combien de temps dure {t} à {s} ?", "À {s}, {t} reste en usage jusqu'à l'échéance de {n} mois.",
     "How long does {t} last in {s}?", "In {s}, {t} remains usable until the deadline of {n} months."),
    ("Que mange {t} à {s} ?", "À {s}, {t} consomme un repas végétarien, menu {n}.",
     "What does {t} eat in {s}?", "In {s}, {t} consumes vegetarian meals, menu {n}."),
    ("Par qui remplacer {t} à {s} ?", "À {s}, {t} aura pour successeur l'offre {n} du fournisseur.",
     "What should replace {t} in {s}?", "In {s}, {t} gets supplier offer {n} as successor."),
    ("Faut-il nettoyer {t} à {s} ?", "À {s}, {t} exige un lavage hebdomadaire, consigne {n}.",
     "Must one clean {t} in {s}?", "In {s}, {t} requires weekly washing, instruction {n}."),
]  # fmt: skip
SITES = [
    "Lyon", "Nantes", "Lille", "Bordeaux", "Grenoble", "Toulouse", "Rennes", "Dijon", "Brest",
]  # fmt: skip
MOST_SHARED = 0.3


#: Where the halves part: things, facts and sites before these belong to the tuning half.
_PARTED: Final = (10, 8, 4)

_QUESTIONS: Final = {"tuning": 180, "held out": 320}

Question = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages, and questions with the number of the passage that answers each."""

    passages: list[str]
    tuning: list[Question]
    held_out: list[Question]

    def thinned(self, step: int) -> "Corpus":
        """The answers and every `step`th of the other passages."""
        answers = {answer for _, answer in (*self.tuning, *self.held_out)}
        places = [n for n in range(len(self.passages)) if n in answers or n % step == 0]
        moved = {old: new for new, old in enumerate(places)}
        halves = ([(text, moved[n]) for text, n in half] for half in (self.tuning, self.held_out))
        return Corpus([self.passages[n] for n in places], *halves)


def shared(question: str, passage: str) -> float:
    """Share of a question's content stems that stand in a passage."""
    asked = set(sparse_query(question).indices)
    return len(asked & set(sparse_query(passage).indices)) / len(asked)


def make_corpus(seed: int) -> Corpus:
    """All combinations in both languages, shuffled, and in each half as many questions of each language.

    Args:
        seed: decides numbers, order and which questions.
    """
    chance = random.Random(seed)
    made: list[tuple[str, str, str]] = []
    for thing, fact, site in product(range(len(THINGS)), range(len(FACTS)), range(len(SITES))):
        number = chance.randrange(11, 9999)
        sides = {n >= parted for n, parted in zip((thing, fact, site), _PARTED, strict=True)}
        half = "" if len(sides) > 1 else "held out" if sides.pop() else "tuning"
        for place in (0, 2):
            words = {"t": THINGS[thing][place], "s": SITES[site]}
            question = FACTS[fact][place].format(**words).replace(" de le ", " du ")
            answer = FACTS[fact][place + 1].format(t=THINGS[thing][place + 1], s=SITES[site], n=number)
            made.append((f"{half} {place}" if half else "", question, answer))
    order = chance.sample(range(len(made)), len(made))
    fit: dict[str, list[Question]] = {}
    for place, i in enumerate(order):
        half, question, answer = made[i]
        if half and shared(question, answer) <= MOST_SHARED:
            fit.setdefault(half, []).append((question, place))
    tuning, held_out = (
        [one for place in (0, 2) for one in chance.sample(fit[f"{half} {place}"], count // 2)]
        for half, count in _QUESTIONS.items()
    )
    return Corpus([made[i][2] for i in order], tuning, held_out)
