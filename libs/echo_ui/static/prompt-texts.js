// The texts of the page of prompts in both languages, over those that ECHO's pages share.

import { TEXTS } from "./i18n.js";

const en = {
  title: "Prompts",
  signedOutHelp: "Sign in as an administrator to see and change ECHO's prompts.",
  promptsIntro:
    "The words in which ECHO itself speaks to models. A text of your own holds from the next message on, for everybody; every version is kept. Chats that go on keep their system prompt and are told of a changed one in their next message.",
  all: "All prompts",
  shipped: (version) => `shipped text (${version})`,
  ownVersion: (version) => `your version ${version}`,
  outdated: "ECHO has since shipped other words",
  inUse: "in use",
  text: "Text",
  fillsIn: (names) => `ECHO fills in ${names}.`,
  preview: "Preview",
  keep: "Save as a new version",
  discard: "Discard changes",
  kept: "Saved. It holds from the next message on.",
  asRead: "As the model reads it",
  changes: "Changes to the text in use",
  same: "The same text as now.",
  versions: "Versions",
  version: (version) => `Version ${version}`,
  returned: "return to the shipped text",
  by: (author, date) => `${author}, ${date}`,
  rollBack: "Roll back to this",
  rolledBack: "Done. The earlier text holds from the next message on.",
  working: "One moment…",
  rollTitle: "Roll back?",
  rollText: "The text in use stays in the list of versions.",
  rollYes: "Roll back",
};

const fr = {
  title: "Prompts système",
  signedOutHelp: "Connectez-vous en administrateur pour voir et changer les prompts d'ECHO.",
  promptsIntro:
    "Les mots par lesquels ECHO lui-même parle aux modèles. Un texte à vous vaut dès le prochain message, pour tout le monde ; chaque version est gardée. Les discussions en cours gardent leur prompt système et apprennent un changement dans leur prochain message.",
  all: "Tous les prompts",
  shipped: (version) => `texte livré (${version})`,
  ownVersion: (version) => `votre version ${version}`,
  outdated: "ECHO livre depuis un autre texte",
  inUse: "en vigueur",
  text: "Texte",
  fillsIn: (names) => `ECHO complète ${names}.`,
  preview: "Aperçu",
  keep: "Enregistrer comme nouvelle version",
  discard: "Abandonner les modifications",
  kept: "Enregistré. Ce texte vaut dès le prochain message.",
  asRead: "Tel que le modèle le lit",
  changes: "Différences avec le texte en vigueur",
  same: "Le même texte que maintenant.",
  versions: "Historique des versions",
  version: (version) => `Version n° ${version}`,
  returned: "retour au texte livré",
  by: (author, date) => `${author}, le ${date}`,
  rollBack: "Revenir à ce texte",
  rolledBack: "C'est fait. L'ancien texte vaut dès le prochain message.",
  working: "Un instant…",
  rollTitle: "Revenir à cet ancien texte ?",
  rollText: "Le texte en vigueur reste dans la liste des versions.",
  rollYes: "Revenir",
};

export const PROMPT_TEXTS = { en: { ...TEXTS.en, ...en }, fr: { ...TEXTS.fr, ...fr } };

/** When the model reads each prompt: English, French. */
const PURPOSES = {
  pis: ["The system prompt of each chat, before the instructions of model, folder, chat and user.", "Le prompt système de chaque discussion, avant les instructions du modèle, du dossier, de la discussion et de l'utilisateur."],
  init: ["In the first message of a chat.", "Dans le premier message d'une discussion."],
  reminder: ["In a long chat, every 20 turns and when the context is 30 % full.", "Dans une longue discussion, tous les 20 tours et quand le contexte est rempli à 30 %."],
  continue: ["The user asks for more of an answer, or ECHO resumes one that broke off.", "L'utilisateur demande la suite d'une réponse, ou ECHO reprend une réponse interrompue."],
  nudge_empty: ["An answer was empty.", "Une réponse était vide."],
  nudge_malformed_call: ["An answer called a tool in an unreadable way.", "Une réponse a appelé un outil de façon illisible."],
  nudge_unknown_tool: ["An answer called a tool that is not there.", "Une réponse a appelé un outil qui n'existe pas."],
  note_repeats: ["Beside tool results: the same calls come again.", "À côté des résultats d'outils : les mêmes appels reviennent."],
  note_stuck: ["Beside tool results: the calls go in circles.", "À côté des résultats d'outils : les appels tournent en rond."],
  note_last_round: ["Beside tool results: no more calls may follow.", "À côté des résultats d'outils : plus aucun appel ne peut suivre."],
  judge: ["Asked of the lightest model when AUTO chooses the level of a chat.", "Demandé au modèle le plus léger quand AUTO choisit le niveau d'une discussion."],
  writer: ["Before each message of a chat with several writers.", "Avant chaque message d'une discussion à plusieurs auteurs."],
  subagent: ["The system prompt of a sub-agent.", "Le prompt système d'un sous-agent."],
  subagent_context: ["Before what a sub-agent was given to know.", "Avant ce qui a été donné à savoir à un sous-agent."],
  level_tool: ["Declares the tool by which the model changes its level.", "Déclare l'outil par lequel le modèle change de niveau."],
  level_plan: ["Declares that tool's plan for the next model.", "Déclare le plan que cet outil laisse au modèle suivant."],
  checkpoint: ["Asks for the summary when a long chat is condensed.", "Demande le résumé quand une longue discussion est condensée."],
  checkpoint_review: ["Asks for the second look at that summary.", "Demande la relecture de ce résumé."],
  memory_reading: ["Asks what of a user's words is worth remembering.", "Demande ce qui, dans les mots de l'utilisateur, mérite d'être retenu."],
};

export function purposeOf(name, locale) {
  return PURPOSES[name]?.[locale === "fr" ? 1 : 0] ?? "";
}
