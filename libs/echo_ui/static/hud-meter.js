// How a share is drawn and told.

import { element } from "./dom.js";

const HIGH = 0.45;
const FULL = 0.9;

/** How a share is told: by colour, and for those who see none by words. */
export function stateOf(gauge) {
  if (gauge.exhausted) return "exhausted";
  return gauge.fraction >= FULL ? "full" : gauge.fraction >= HIGH ? "high" : "calm";
}

/** A horizontal meter with its thresholds. */
export function meter(fraction, marks = []) {
  const track = element("span", { className: "meter" }, element("span", { className: "fill" }));
  track.setAttribute("aria-hidden", "true");
  track.firstChild.style.inlineSize = `${Math.max(fraction > 0 ? 2 : 0, Math.min(100, fraction * 100))}%`;
  for (const mark of marks) {
    const tick = element("span", { className: "tick" });
    tick.style.insetInlineStart = `${mark.fraction * 100}%`;
    track.append(tick);
  }
  return track;
}
