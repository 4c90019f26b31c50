// What condensing has done to a chat: when, how, the checkpoint to look at and to change, and the way back.

import { element } from "./dom.js";
import { fetchHud, sendHud } from "./hud-api.js";

/** The part of the details about condensing. */
export function compactionPart(data, texts, format) {
  const part = element("section", {}, element("h3", { textContent: texts.compaction }));
  const held = data.compaction;
  if (!held) {
    part.append(element("p", { textContent: texts.never }));
    return part;
  }
  const when = new Intl.DateTimeFormat(format.tag, { dateStyle: "medium", timeStyle: "short" });
  const told = element("p", { role: "status" });
  const entries = [
    [texts.how, held.method[texts.lang]],
    [texts.times, format.tokens(held.times)],
    [texts.pins, format.tokens(data.pins.length)],
  ];
  const undo = element("button", { type: "button", className: "small", textContent: texts.undo });
  undo.addEventListener("click", async () => {
    undo.disabled = await acted("POST", "/undo", { chat_id: data.chat_id }, texts, told, texts.undone);
  });
  part.append(
    element("p", {
      textContent: texts.compacted(
        format.tokens(held.tokens_before),
        format.tokens(held.tokens_after),
        when.format(held.at_s * 1000),
      ),
    }),
    element(
      "dl",
      {},
      ...entries.map(([name, value]) =>
        element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: value })),
      ),
    ),
  );
  if (held.checkpoint_id) part.append(checkpointPart(data.chat_id, texts, told));
  part.append(undo, told);
  return part;
}

/** The checkpoint, fetched when it is opened. */
function checkpointPart(chatId, texts, told) {
  const box = element("details", { className: "checkpoint" }, element("summary", { textContent: texts.look }));
  box.addEventListener(
    "toggle",
    async () => {
      try {
        const held = (await fetchHud(`/checkpoint?${new URLSearchParams({ chat_id: chatId })}`))?.checkpoint;
        if (held) box.append(...sections(held, texts), editor(chatId, held, texts, told));
      } catch (error) {
        console.info("ECHO: the checkpoint could not be read.", error);
        told.textContent = texts.failed;
      }
    },
    { once: true },
  );
  return box;
}

function sections(held, texts) {
  const names = [...new Set(held.lines.map(([name]) => name))];
  return names.map((name) => {
    const lines = held.lines.filter(([section]) => section === name);
    return element(
      "div",
      {},
      element("h4", { textContent: texts.sections[name] ?? name }),
      element("ul", {}, ...lines.map(([, textContent]) => element("li", { textContent }))),
    );
  });
}

function editor(chatId, held, texts, told) {
  const words = element("textarea", {
    id: "checkpoint-words",
    rows: 6,
    value: held.lines.map(([name, text]) => (name === "note" ? text : `${texts.sections[name] ?? name}: ${text}`)).join("\n"),
    "aria-describedby": "checkpoint-hint",
  });
  const save = element("button", { type: "button", className: "small", textContent: texts.save });
  save.addEventListener("click", () => {
    const form = { chat_id: chatId, checkpoint_id: held.checkpoint_id, text: words.value };
    acted("PUT", "/checkpoint", form, texts, told, texts.saved);
  });
  return element(
    "div",
    { className: "choice" },
    element("label", { htmlFor: "checkpoint-words", textContent: texts.checkpoint }),
    words,
    element("p", { id: "checkpoint-hint", className: "note", textContent: texts.checkpointHint }),
    save,
  );
}

/** Do something and tell how it went; true when it worked. */
async function acted(method, path, form, texts, told, success) {
  told.textContent = "";
  try {
    await sendHud(method, path, form);
    told.textContent = success;
    window.dispatchEvent(new Event("echo:changed"));
    return true;
  } catch (error) {
    told.textContent = error.texts?.[texts.lang] ?? texts.failed;
    return false;
  }
}
