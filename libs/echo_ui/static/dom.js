// Small helpers to build the page without markup in strings.

/** An element with properties, attributes (names with a dash, `role`, `for`) and children. */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined) continue;
    if (name in node && !name.includes("-")) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Ask yes or no in a modal dialog; gives true for yes. Escape means no. */
export function confirmed({ title, text, yes, no }) {
  const cancel = element("button", { type: "button", className: "quiet", textContent: no, autofocus: true });
  const accept = element("button", { type: "button", className: "danger", textContent: yes });
  const dialog = element(
    "dialog",
    { "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text" },
    element("h2", { id: "confirm-title", textContent: title }),
    element("p", { id: "confirm-text", textContent: text }),
    element("div", { className: "actions" }, cancel, accept),
  );
  document.body.append(dialog);
  return new Promise((resolve) => {
    let answer = false;
    cancel.addEventListener("click", () => dialog.close());
    accept.addEventListener("click", () => {
      answer = true;
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    dialog.showModal();
  });
}
