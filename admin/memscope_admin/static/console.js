// Quicker ways to what every page does without script too: keys, copying, and a lamp that tells of an agent's first call.
"use strict";

const field = (target) => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
const single = () => document.body.dataset.keys === "on";
let afterG = false;

document.addEventListener("keydown", (event) => {
  if (!single() || event.ctrlKey || event.metaKey || event.altKey || field(event.target) || document.querySelector("dialog[open]")) return;
  const key = event.key;
  if (afterG) {
    afterG = false;
    const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (key === "g") { afterG = true; return; }
  if (key === "?") { document.getElementById("keys")?.showModal(); event.preventDefault(); return; }
  const target = key === "/" ? document.querySelector("[data-search]") : document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!target) return;
  event.preventDefault();
  if (field(target)) target.focus(); else target.click();
});

document.querySelector("[data-t=error-summary]")?.focus();

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  });
}

for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
window.addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });

const lamp = document.querySelector("[data-lamp]:not([data-lamp=''])");
if (lamp) {
  const timer = setInterval(async () => {
    const answer = await fetch(lamp.dataset.lamp).catch(() => null);
    if (!answer?.ok || (await answer.text()) !== "received") return;
    clearInterval(timer);
    lamp.textContent = "The first call was received.";
    lamp.classList.add("received");
  }, 2000);
}
