// A modal dialog inside the strip's shadow tree: Escape, the backdrop and a button close it, focus stays inside.

import { element } from "./dom.js";

/** Open a dialog with a title; gives the element to fill. Another one that is open goes. */
export function openDialog({ root, title, texts, className }) {
  root.querySelector("dialog")?.remove();
  const heading = element("h2", { id: "dialog-title", textContent: title });
  const close = element("button", { type: "button", className: "close", textContent: "×", "aria-label": texts.close });
  const body = element("div", { className: "body", tabIndex: 0, role: "region", "aria-labelledby": "dialog-title" });
  const dialog = element(
    "dialog",
    { "aria-labelledby": "dialog-title", className },
    element("header", {}, heading, close),
    body,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  root.append(dialog);
  dialog.showModal();
  return body;
}
