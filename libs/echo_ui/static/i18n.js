// The page's texts in both languages. A text is a string or a function of what it tells.

const en = {
  title: "Gemini API key",
  intro:
    "ECHO answers with Google Gemini, which needs an API key. Keys are encrypted on this server; they are shown to nobody, not even to you, and only go to the Gemini service that ECHO is set up with.",
  getKey: "Get a key from Google AI Studio",
  newTab: "opens in a new tab",
  back: "Back to the chat",
  loading: "Loading…",
  own: "Your key",
  ownHint: "Used for your chats only.",
  instance: "Key for everyone",
  instanceHint: "Only administrators see this. Used for everyone who has no key of their own.",
  prompts: "The prompts in which ECHO speaks to models",
  none: "No key stored.",
  noneFallbackInstance: "Your chats use the key that your administrator provides.",
  noneFallbackEnvironment: "Your chats use the key that this server was started with.",
  noneFallbackNothing: "ECHO cannot answer you until you enter a key.",
  instanceFallbackEnvironment: "The key that this server was started with (GEMINI_API_KEY) is used.",
  instanceFallbackNothing: "People without a key of their own get no answer.",
  stored: (tail, date) => `Key ending in ${tail}, stored since ${date}.`,
  storedShort: (date) => `A key is stored since ${date}.`,
  damaged: "The stored key is damaged. Delete it and enter it again.",
  newKey: "API key",
  replaceKey: "Another key, to replace this one",
  show: "Show",
  hide: "Hide",
  showLabel: "Show the typed key",
  hideLabel: "Hide the typed key",
  save: "Save",
  saving: "Saving…",
  test: "Test the key",
  testing: "Asking Gemini…",
  remove: "Delete the key",
  removing: "Deleting…",
  removed: "The key is deleted.",
  confirmTitle: "Delete this key?",
  confirmOwn: "It is removed from this server. You can enter it again at any time.",
  confirmInstance: "It is removed from this server. Everyone without a key of their own can no longer use it.",
  cancel: "Cancel",
  confirm: "Delete",
  empty: "Enter a key first.",
  accepted: "Gemini accepts the key.",
  acceptedSaved: "Saved. Gemini accepts the key.",
  limited: "Gemini knows the key, but its quota is used up for now. Wait a while, then test again.",
  demoTitle: "Demo: the simulator answers",
  demo: "A simulator on this machine answers in Gemini's place. You need no key here, and no key is checked with Google. To talk to Google, stop ECHO and start it again with:",
  noneSimulated: "The simulator answers without one.",
  simulated: "The simulator answers here, so the key was not checked with Google.",
  simulatedSaved: "Saved, but not checked with Google: the simulator answers here.",
  unreachable: "The key is stored, but Gemini could not be reached to check it. Test it again in a moment.",
  refused: "Gemini refuses this key.",
  refusedNew: "Gemini refuses this key, so it was not saved.",
  refusedHelp: [
    "Copy the whole key again from Google AI Studio and save it here.",
    "Check there that the key still exists and is not limited to other sites, addresses or services.",
    "Or create a new key and save that one.",
  ],
  signedOut: "You are signed out.",
  signedOutHelp: "Sign in to see and change your key.",
  signIn: "Sign in",
  forbidden: "Your account may not use this page. Ask your administrator.",
  offline: "The server does not answer. Check your connection.",
  off: "ECHO is switched off on this server. Ask your administrator.",
  failed: "That did not work. Try again; if it happens again, tell your administrator.",
  retry: "Try again",
};

const fr = {
  title: "Clé API Gemini",
  intro:
    "ECHO répond avec Google Gemini, qui demande une clé API. Les clés sont chiffrées sur ce serveur ; elles ne sont montrées à personne, pas même à vous, et ne vont qu'au service Gemini pour lequel ECHO est configuré.",
  getKey: "Obtenir une clé dans Google AI Studio",
  newTab: "s'ouvre dans un nouvel onglet",
  back: "Retour à la conversation",
  loading: "Chargement…",
  own: "Votre clé",
  ownHint: "Elle ne sert qu'à vos conversations.",
  instance: "Clé pour tout le monde",
  instanceHint: "Visible des seuls administrateurs. Elle sert à tous ceux qui n'ont pas leur propre clé.",
  prompts: "Les prompts par lesquels ECHO parle aux modèles",
  none: "Aucune clé enregistrée.",
  noneFallbackInstance: "Vos conversations utilisent la clé fournie par votre administrateur.",
  noneFallbackEnvironment: "Vos conversations utilisent la clé avec laquelle ce serveur a été lancé.",
  noneFallbackNothing: "ECHO ne peut pas vous répondre tant que vous n'avez pas saisi de clé.",
  instanceFallbackEnvironment: "C'est la clé avec laquelle ce serveur a été lancé (GEMINI_API_KEY) qui sert.",
  instanceFallbackNothing: "Ceux qui n'ont pas leur propre clé n'obtiennent pas de réponse.",
  stored: (tail, date) => `Clé se terminant par ${tail}, enregistrée depuis le ${date}.`,
  storedShort: (date) => `Une clé est enregistrée depuis le ${date}.`,
  damaged: "La clé enregistrée est endommagée. Supprimez-la et saisissez-la de nouveau.",
  newKey: "Clé API",
  replaceKey: "Une autre clé, pour remplacer celle-ci",
  show: "Afficher",
  hide: "Masquer",
  showLabel: "Afficher la clé saisie",
  hideLabel: "Masquer la clé saisie",
  save: "Enregistrer",
  saving: "Enregistrement…",
  test: "Tester la clé",
  testing: "Question à Gemini…",
  remove: "Supprimer la clé",
  removing: "Suppression…",
  removed: "La clé est supprimée.",
  confirmTitle: "Supprimer cette clé ?",
  confirmOwn: "Elle est retirée de ce serveur. Vous pourrez la saisir de nouveau à tout moment.",
  confirmInstance: "Elle est retirée de ce serveur. Ceux qui n'ont pas leur propre clé ne pourront plus s'en servir.",
  cancel: "Annuler",
  confirm: "Supprimer",
  empty: "Saisissez d'abord une clé.",
  accepted: "Gemini accepte la clé.",
  acceptedSaved: "Enregistrée. Gemini accepte la clé.",
  limited: "Gemini connaît la clé, mais son quota est épuisé pour le moment. Attendez un peu, puis testez de nouveau.",
  demoTitle: "Démo : le simulateur répond",
  demo: "Un simulateur répond sur cette machine à la place de Gemini. Il ne faut pas de clé ici, et aucune clé n'est vérifiée auprès de Google. Pour parler à Google, arrêtez ECHO et relancez-le avec :",
  noneSimulated: "Le simulateur répond sans clé.",
  simulated: "Ici, c'est le simulateur qui répond : la clé n'a pas été vérifiée auprès de Google.",
  simulatedSaved: "Enregistrée, mais pas vérifiée auprès de Google : ici, c'est le simulateur qui répond.",
  unreachable:
    "La clé est enregistrée, mais Gemini n'a pas pu être joint pour la vérifier. Testez-la de nouveau dans un instant.",
  refused: "Gemini refuse cette clé.",
  refusedNew: "Gemini refuse cette clé ; elle n'a donc pas été enregistrée.",
  refusedHelp: [
    "Copiez de nouveau la clé entière depuis Google AI Studio et enregistrez-la ici.",
    "Vérifiez là-bas que la clé existe encore et n'est pas limitée à d'autres sites, adresses ou services.",
    "Ou créez une nouvelle clé et enregistrez celle-là.",
  ],
  signedOut: "Vous êtes déconnecté.",
  signedOutHelp: "Connectez-vous pour voir et changer votre clé.",
  signIn: "Se connecter",
  forbidden: "Votre compte ne peut pas utiliser cette page. Adressez-vous à votre administrateur.",
  offline: "Le serveur ne répond pas. Vérifiez votre connexion.",
  off: "ECHO est désactivé sur ce serveur. Adressez-vous à votre administrateur.",
  failed: "Cela n'a pas fonctionné. Réessayez ; si cela se reproduit, prévenez votre administrateur.",
  retry: "Réessayer",
};

export const TEXTS = { en, fr };

/** The language tag that Open WebUI shows the user, else the browser's. */
export function languageTag() {
  return stored("locale") || navigator.language || "en";
}

/** "fr" for any French, else "en". */
export function localeOf(tag) {
  return tag.toLowerCase().split(/[-_]/)[0] === "fr" ? "fr" : "en";
}

/** A value of Open WebUI's local storage, "" when absent or when the browser refuses to give it. */
export function stored(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}
