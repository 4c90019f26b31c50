// The app drawer: quick actions. Only what works is listed; everything is done as the signed-in user.

import { element } from "./dom.js";
import { callOpenWebUI, changeValves, sendHud } from "./hud-api.js";
import { openDialog } from "./hud-dialog.js";
import { openPanel } from "./hud-panel.js";

const PIPE = "echo_orchestrator";
const DRAWER = "app_drawer_filter";
const LANGUAGES = { "en-US": "English", "fr-FR": "Français" };

/** Open the drawer. */
export function openDrawer({ root, data, texts, format, chatId }) {
  const body = openDialog({ root, title: texts.drawer, texts, className: "panel drawer" });
  const told = element("p", { className: "told", role: "status" });
  const tell = (text) => (told.textContent = text);
  const actions = [
    button(texts.details, texts.detailsHint, () => openPanel({ root, data, texts, format })),
    data?.turn && chatId ? button(texts.compact, texts.compactHint, () => compacted(data, texts, tell)) : null,
    data?.turn && chatId ? pinning(data, texts, tell) : null,
    data?.compaction && chatId ? button(texts.undo, texts.undoHint, () => undone(data, texts, tell)) : null,
    ...texts.asks.map(([name, question]) => button(name, texts.askHint, () => asked(question, body.closest("dialog")))),
    chatId ? button(texts.export, texts.exportHint, () => exported(chatId, texts, tell)) : null,
    link(texts.memory, texts.memoryHint, "/echo/hud/memory"),
    link(texts.keys, texts.keysHint, "/echo/hud/keys"),
  ];
  body.append(
    element("ul", { className: "actions" }, ...actions.filter(Boolean).map((action) => element("li", {}, action))),
    valve({ id: "policy", name: texts.policy, hint: texts.policyHint, options: texts.policies, texts, tell }, PIPE, "MODEL_SELECTION"),
    valve({ id: "place", name: texts.place, hint: "", options: texts.places, texts, tell }, DRAWER, "HUD"),
    languages(texts),
    told,
  );
}

/** Condense the chat now; ECHO says how it went. */
async function compacted(data, texts, tell) {
  tell(texts.condensing);
  try {
    const form = { chat_id: data.chat_id, message_id: data.turn.message_id };
    tell((await sendHud("POST", "/compact", form)).told || texts.failed);
    window.dispatchEvent(new Event("echo:changed"));
  } catch (error) {
    tell(error.texts?.[texts.lang] ?? texts.failed);
  }
}

async function undone(data, texts, tell) {
  try {
    await sendHud("POST", "/undo", { chat_id: data.chat_id });
    tell(texts.undone);
    window.dispatchEvent(new Event("echo:changed"));
  } catch (error) {
    tell(error.texts?.[texts.lang] ?? texts.failed);
  }
}

/** Keep the last answer word for word whatever is condensed, or no longer. */
function pinning(data, texts, tell) {
  const form = { chat_id: data.chat_id, message_id: data.turn.message_id };
  const isPinned = () => data.pins.includes(form.message_id);
  const name = () => (isPinned() ? texts.unpin : texts.pin);
  const made = button(name(), texts.pinHint, async () => {
    try {
      data.pins = (await sendHud("POST", "/pin", { ...form, pinned: !isPinned() })).pins;
      made.querySelector(".name").textContent = name();
      tell(texts.pinned(data.pins.length));
      window.dispatchEvent(new Event("echo:changed"));
    } catch (error) {
      tell(error.texts?.[texts.lang] ?? texts.failed);
    }
  });
  return made;
}

/** Put a question into the message box, where the user may change it and sends it. Source: Open WebUI 0.12.4, Chat.svelte. */
function asked(text, dialog) {
  dialog.close();
  window.postMessage({ type: "input:prompt", text }, window.origin);
}

function inside(name, hint) {
  return [element("span", { className: "name", textContent: name }), element("span", { className: "hint", textContent: hint })];
}

function button(name, hint, act) {
  const made = element("button", { type: "button", className: "action" }, ...inside(name, hint));
  made.addEventListener("click", act);
  return made;
}

function link(name, hint, href) {
  return element("a", { href, className: "action" }, ...inside(name, hint));
}

function choice({ id, name, hint, options }) {
  const select = element(
    "select",
    { id, "aria-describedby": hint ? `${id}-hint` : undefined },
    ...Object.entries(options).map(([value, textContent]) => element("option", { value, textContent })),
  );
  const label = element("label", { htmlFor: id, textContent: name });
  const note = hint ? element("p", { id: `${id}-hint`, className: "note", textContent: hint }) : null;
  return { select, node: element("div", { className: "choice" }, label, select, note) };
}

/** A choice that is one of the user's own valves; it can be used once the present value has come. */
function valve({ texts, tell, ...shown }, functionId, name) {
  const { select, node } = choice(shown);
  select.disabled = true;
  callOpenWebUI(`/api/v1/functions/id/${functionId}/valves/user`)
    .then((held) => {
      select.value = held?.[name] ?? "default";
      select.disabled = false;
    })
    .catch((error) => {
      console.info("ECHO: a setting could not be read.", error);
      node.remove(); // the function is not installed, so there is nothing to choose
    });
  select.addEventListener("change", async () => {
    tell("");
    try {
      await changeValves(functionId, { [name]: select.value });
      tell(texts.saved);
    } catch (error) {
      console.info("ECHO: a setting could not be saved.", error);
      tell(texts.failed);
    }
  });
  return node;
}

function languages(texts) {
  const { select, node } = choice({ id: "language", name: texts.language, hint: texts.languageHint, options: LANGUAGES });
  select.value = texts.lang === "fr" ? "fr-FR" : "en-US";
  select.addEventListener("change", () => {
    localStorage.setItem("locale", select.value);
    location.reload();
  });
  return node;
}

/** Save the chat as Open WebUI's own export does: a list with one chat. */
async function exported(chatId, texts, tell) {
  tell("");
  try {
    const chat = await callOpenWebUI(`/api/v1/chats/${encodeURIComponent(chatId)}`);
    const file = new Blob([JSON.stringify([chat])], { type: "application/json" });
    const address = URL.createObjectURL(file);
    element("a", { href: address, download: `chat-export-${chatId}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  } catch (error) {
    console.info("ECHO: the chat could not be exported.", error);
    tell(texts.failed);
  }
}
