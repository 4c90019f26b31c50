// ECHO's key page: loads what is stored and draws it in the user's language and theme.

import { ApiError, call } from "./api.js";
import { element } from "./dom.js";
import { languageTag, localeOf, stored, TEXTS } from "./i18n.js";
import { KeyCard } from "./key-card.js";

const AI_STUDIO = "https://aistudio.google.com/apikey";
const page = document.getElementById("page");

function view() {
  const tag = languageTag();
  const locale = localeOf(tag);
  return { tag, locale, texts: TEXTS[locale] };
}

function applyTheme() {
  const theme = stored("theme");
  const follows = theme === "" || theme === "system";
  const light = theme === "light" || theme === "her";
  document.documentElement.dataset.theme = follows ? "system" : light ? "light" : "dark";
}

/** Where the user came from when that was a page of this Open WebUI, else its start page. */
function chatUrl() {
  const home = new URL("../../", document.baseURI);
  const from = URL.parse?.(document.referrer);
  return from?.origin === home.origin && from.pathname.includes("/c/") ? from.href : home.href;
}

function link(text, href, properties = {}) {
  return element("a", { href, textContent: text, ...properties });
}

function frame({ texts, locale }, ...content) {
  document.documentElement.lang = locale;
  document.title = `${texts.title} – ECHO`;
  page.replaceChildren(
    element("nav", {}, link(`← ${texts.back}`, chatUrl())),
    element("h1", { textContent: texts.title }),
    ...content,
  );
}

function intro(texts) {
  const outside = link(texts.getKey, AI_STUDIO, { target: "_blank", rel: "noopener noreferrer" });
  outside.append(element("span", { className: "hint", textContent: ` (${texts.newTab})` }));
  return [element("p", { textContent: texts.intro }), element("p", {}, outside)];
}

/** Says that no key matters here, because the simulator answers. */
function demo(texts) {
  return element("section", { role: "note", "aria-labelledby": "demo-title" },
    element("h2", { id: "demo-title", textContent: texts.demoTitle }),
    element("p", { textContent: texts.demo }),
    element("p", {}, element("code", { textContent: "GEMINI_API_KEY=… make run" })));
}

function showProblem(kind, explained) {
  const current = view();
  const { texts } = current;
  if (kind === "signed-out") {
    // After the sign-in Open WebUI sends the browser back here.
    const target = new URL("../../auth", document.baseURI);
    target.searchParams.set("redirect", location.pathname);
    const signIn = link(texts.signIn, target.href, { className: "button" });
    frame(current, element("section", { role: "alert" },
      element("h2", { textContent: texts.signedOut }), element("p", { textContent: texts.signedOutHelp }), signIn));
    return;
  }
  const retry = element("button", { type: "button", textContent: texts.retry });
  retry.addEventListener("click", load);
  const text = explained?.[current.locale] ?? texts[kind];
  frame(current, element("section", { role: "alert" }, element("p", { textContent: text }), retry));
}

function showKeys(own, instance) {
  const current = view();
  const onSignedOut = () => showProblem("signed-out");
  const cards = [
    new KeyCard({ kind: "own", path: "keys", state: own, view: current, onSignedOut, onChange: () => {} }),
  ];
  if (instance) {
    const onChange = (state) => cards[0].fallBackTo(state.fallback);
    cards.push(
      new KeyCard({ kind: "instance", path: "admin/key", state: instance, view: current, onSignedOut, onChange }),
    );
  }
  const note = own.simulated ? [demo(current.texts)] : [];
  frame(current, ...note, ...intro(current.texts), ...cards.map((card) => card.node));
}

async function load() {
  const current = view();
  frame(current, element("p", { role: "status", textContent: current.texts.loading }));
  try {
    const own = await call("GET", "keys");
    showKeys(own, own.admin ? await call("GET", "admin/key") : null);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    showProblem(error.kind === "told" ? "failed" : error.kind, error.texts);
  }
}

// Signing in or out and changing language or theme happen in Open WebUI's own tabs.
addEventListener("storage", (event) => {
  if (event.key === "theme") applyTheme();
  else if (event.key === null || event.key === "token" || event.key === "locale") load();
});

applyTheme();
load();
