// The administrators' page of prompts: a list, and an editor for the prompt that the address names (`#pis.en`).

import { call } from "./api.js";
import { element } from "./dom.js";
import { link, OwnPage } from "./page.js";
import { LANGUAGES, PromptEditor, stateText } from "./prompt-editor.js";
import { PROMPT_TEXTS, purposeOf } from "./prompt-texts.js";

/** What was typed and not saved, by prompt; it outlives a look at another prompt. */
const drafts = new Map();

function entry(name, states, { texts, locale }) {
  const languages = states.map((state) =>
    element("span", {},
      link(LANGUAGES[state.locale], `#${name}.${state.locale}`, { "aria-label": `${name}, ${LANGUAGES[state.locale]}` }),
      element("span", { className: "hint", textContent: ` ${stateText(state, texts)}` })));
  return element("li", {},
    element("strong", {}, element("code", { textContent: name })),
    element("div", { className: "hint", textContent: purposeOf(name, locale) }),
    element("div", { className: "languages" }, ...languages));
}

async function showList(page) {
  const { prompts } = await call("GET", "admin/prompts");
  const view = page.view();
  const names = [...new Set(prompts.map((state) => state.name))];
  const entries = names.map((name) => entry(name, prompts.filter((state) => state.name === name), view));
  page.show(
    element("p", { textContent: view.texts.promptsIntro }),
    element("ul", { className: "prompts" }, ...entries),
  );
}

async function showEditor(page, key) {
  const path = `admin/prompts/${key.split(".").map(encodeURIComponent).join("/")}`;
  const state = await call("GET", path);
  if (location.hash !== `#${key}`) return; // another one was chosen meanwhile
  const view = page.view();
  const onSignedOut = () => page.problem("signed-out");
  const editor = new PromptEditor({ key, path, state, view, drafts, onSignedOut });
  page.show(element("p", {}, link(view.texts.all, "#")), ...editor.nodes);
}

const page = new OwnPage(PROMPT_TEXTS, (own) => {
  const key = location.hash.slice(1);
  return key ? showEditor(own, key) : showList(own);
});

addEventListener("hashchange", () => page.reload());
addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault();
});
