"""Questions and passages that say the same in other words, French and English, made by combination.

A passage tells one of 16 facts about one of 20 things at one of 9 sites. Its question names thing and fact by other
words; only the site is the same word, so that at most 30 % of a question's content words stand in its passage. All
other combinations are distractors, most of which share thing, fact or site with the answer, word for word.
"""

import random
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passages, and questions with the number of the passage that answers each."""

    passages: list[str]
    questions: list[tuple[str, int]]


def shared(question: str, passage: str) -> float:
    """Share of a question's content stems that stand in a passage."""
    asked = set(sparse_query(question).indices)
    return len(asked & set(sparse_query(passage).indices)) / len(asked)


def make_corpus(seed: int, questions: int = 360) -> Corpus:
    """All combinations in both languages, shuffled, and as many questions of each language."""
    chance = random.Random(seed)
    made: list[tuple[str, str]] = []
    for thing in THINGS:
        for fact in FACTS:
            for site in SITES:
                number = chance.randrange(11, 9999)
                for place in (0, 2):
                    question = fact[place].format(t=thing[place], s=site).replace(" de le ", " du ")
                    made.append((question, fact[place + 1].format(t=thing[place + 1], s=site, n=number)))
    order = chance.sample(range(len(made)), len(made))
    passages = [made[i][1] for i in order]
    fit = [(made[i][0], place) for place, i in enumerate(order) if shared(*made[i]) <= MOST_SHARED]
    french = [one for one in fit if made[order[one[1]]][1].startswith("À ")]
    english = [one for one in fit if not made[order[one[1]]][1].startswith("À ")]
    return Corpus(passages, chance.sample(french, questions // 2) + chance.sample(english, questions // 2))
