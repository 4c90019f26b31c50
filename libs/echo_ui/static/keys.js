// ECHO's key page: loads what is stored and draws it.

import { call } from "./api.js";
import { element } from "./dom.js";
import { TEXTS } from "./i18n.js";
import { KeyCard } from "./key-card.js";
import { link, OwnPage } from "./page.js";

const AI_STUDIO = "https://aistudio.google.com/apikey";

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

function showKeys(page, own, instance) {
  const view = page.view();
  const onSignedOut = () => page.problem("signed-out");
  const cards = [new KeyCard({ kind: "own", path: "keys", state: own, view, onSignedOut, onChange: () => {} })];
  if (instance) {
    const onChange = (state) => cards[0].fallBackTo(state.fallback);
    cards.push(new KeyCard({ kind: "instance", path: "admin/key", state: instance, view, onSignedOut, onChange }));
  }
  const note = own.simulated ? [demo(view.texts)] : [];
  const more = instance ? [element("p", {}, link(view.texts.prompts, "prompts"))] : [];
  page.show(...note, ...intro(view.texts), ...cards.map((card) => card.node), ...more);
}

async function load(page) {
  const own = await call("GET", "keys");
  showKeys(page, own, own.admin ? await call("GET", "admin/key") : null);
}

new OwnPage(TEXTS, load);
