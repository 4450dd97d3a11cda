// Quicker ways to what every page does without script too: keys, dialogs, copying, and a lamp that tells of an agent's first call.
// Everything is found when it is used, so what htmx brings later works like what was there at first.
"use strict";

const field = (target) => target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(checkbox|radio|submit|button)$/.test(target.type));
const single = () => document.body.dataset.keys === "on";
const shown = (element) => element.checkVisibility?.() ?? element.offsetParent !== null;
const pressed = (key) => [...document.querySelectorAll(`[data-key~="${CSS.escape(key)}"]`)].find((one) => shown(one) && !one.disabled);
let afterG = false;

// Says something where screen readers listen. Parts of a message come as elements, never as markup.
const tell = (text) => {
  const toast = document.createElement("p");
  toast.className = "toast";
  toast.dataset.t = "toast";
  toast.textContent = text;
  document.querySelector("[role=status].toasts")?.replaceChildren(toast);
};

document.addEventListener("keydown", (event) => {
  if (!single() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || field(event.target) || document.querySelector("dialog[open]")) return;
  const key = event.key;
  if (afterG) {
    afterG = false;
    const link = document.querySelector(`[data-go="${CSS.escape(key)}"]`);
    if (link) { event.preventDefault(); link.click(); }
    return;
  }
  if (key === "g") { afterG = true; return; }
  if (key === "?") { document.getElementById("keys")?.showModal(); event.preventDefault(); return; }
  const target = key === "/" ? [...document.querySelectorAll("[data-search]")].find(shown) : pressed(key);
  if (!target) return;
  event.preventDefault();
  if (field(target)) target.focus(); else target.click();
});

// A link or button with data-dialog asks in a dialog of its page; without script the server asks on a page of its own.
document.addEventListener("click", (event) => {
  const opener = event.target.closest?.("[data-dialog]");
  const dialog = opener && document.getElementById(opener.dataset.dialog);
  if (dialog instanceof HTMLDialogElement) {
    event.preventDefault();
    dialog.showModal();
    return;
  }
  const copier = event.target.closest?.("[data-copy]");
  if (copier) navigator.clipboard.writeText(document.getElementById(copier.dataset.copy).textContent).then(() => { copier.textContent = "Copied"; });
}, true);

// A form is sent once, however often its button is pressed. htmx sees to its own.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.hasAttribute("hx-post") || event.submitter?.formMethod === "dialog") return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });
window.addEventListener("offline", () => tell("This computer is offline. Nothing that you do now reaches the server."));
window.addEventListener("online", () => tell("Online again."));

const arrived = (part) => {
  for (const copier of part.querySelectorAll("[data-copy]")) copier.hidden = false;
  (part.querySelector("[data-t=error-summary]") ?? part.querySelector("[data-focus]"))?.focus();
};
arrived(document);

// What is no answer of the console's (a proxy's error, say) never takes the place of a part of a page.
document.addEventListener("htmx:before:response", (event) => {
  const { response } = event.detail.ctx;
  if (response.status < 400 || response.status === 422 || response.headers.get("HX-Retarget")) return;
  event.preventDefault();
  tell("This did not work. Nothing was changed that you do not see; load the page again.");
});
document.addEventListener("htmx:error", () => tell("The server did not answer. Try again in a moment."));
document.addEventListener("htmx:after:swap", (event) => {
  const { ctx } = event.detail;
  // What arrives in a dialog is asked there; what was answered there closes it.
  const into = ctx.hx?.retarget ? document.querySelector(ctx.hx.retarget) : ctx.target;
  if (into instanceof HTMLDialogElement) { if (!into.open) into.showModal(); arrived(into); return; }
  const asked = ctx.sourceElement?.closest?.("dialog[open]");
  if (asked && !asked.contains(into)) asked.close();
  const target = ctx.sourceElement;
  const part = target?.isConnected && target.closest("main") ? target : document.getElementById("main");
  // What a part of a page has to say goes to where screen readers listen already.
  const told = document.querySelector("[data-told]");
  if (told) {
    document.querySelector("[role=status].toasts").replaceChildren(...told.childNodes);
    told.remove();
  }
  if (ctx.hx?.reselect === "#main") { document.getElementById("main").focus(); window.scrollTo(0, 0); }
  arrived(part);
});

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
