// The HUD's texts in both languages. A text is a string or a function of what it tells.

const en = {
  lang: "en",
  hud: "ECHO: context and cost",
  context: "Context",
  empty: "Nothing has been sent yet",
  emptyShort: "Context empty",
  open: "Show details",
  close: "Close",
  spoken: (share, fill, window) => `Context ${share} full: ${fill} of ${window} tokens`,
  full: "Context almost full",
  exhausted: "Quota used up",
  fill: "How full it is",
  usage: "Tokens and cost",
  input: "Sent",
  cached: "of it from the cache",
  output: "Received, thoughts included",
  cost: "Cost",
  answers: "Answers",
  turn: "Last answer",
  chat: "Whole chat",
  unpriced: (count) => `The price of ${count} ${count === 1 ? "answer" : "answers"} is not known and not included.`,
  model: "Model",
  inUse: "In use",
  level: "Level",
  why: "Why",
  quota: "Quota",
  fiveHours: "5 hours",
  weekly: "Week",
  left: (share, reset) => `${share} left, full again at ${reset}`,
  unknown: "not known",
  disabled: "does not apply",
  perDay: "Requests left today",
  perMinute: "Requests left this minute",
};

const fr = {
  lang: "fr",
  hud: "ECHO : contexte et coût",
  context: "Contexte",
  empty: "Rien n'a encore été envoyé",
  emptyShort: "Contexte vide",
  open: "Afficher les détails",
  close: "Fermer",
  spoken: (share, fill, window) => `Contexte rempli à ${share} : ${fill} jetons sur ${window}`,
  full: "Contexte presque plein",
  exhausted: "Quota épuisé",
  fill: "Remplissage",
  usage: "Jetons et coût",
  input: "Envoyés",
  cached: "dont venant du cache",
  output: "Reçus, réflexions comprises",
  cost: "Coût",
  answers: "Réponses",
  turn: "Dernière réponse",
  chat: "Conversation",
  unpriced: (count) =>
    count === 1
      ? "Le prix d'une réponse n'est pas connu et n'est pas compté."
      : `Le prix de ${count} réponses n'est pas connu et n'est pas compté.`,
  model: "Modèle",
  inUse: "Utilisé",
  level: "Niveau",
  why: "Pourquoi",
  quota: "Quota",
  fiveHours: "5 heures",
  weekly: "Semaine",
  left: (share, reset) => `reste ${share}, de nouveau plein à ${reset}`,
  unknown: "non connu",
  disabled: "ne s'applique pas",
  perDay: "Requêtes restantes aujourd'hui",
  perMinute: "Requêtes restantes cette minute",
};

export const HUD_TEXTS = { en, fr };

/** The texts of a language. */
export function hudTexts(locale) {
  return HUD_TEXTS[locale];
}
