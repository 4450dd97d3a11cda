// What a link with data-ask leads to is asked in a dialog. Forms in it that only look go on in the dialog; those that change something
// are sent as from the page itself. And texts say how many characters they may still have.
"use strict";

{
  const dialog = () => {
    const known = document.getElementById("ask");
    if (known) return known;
    const made = document.createElement("dialog");
    made.id = "ask";
    made.setAttribute("aria-labelledby", "ask-title");
    document.getElementById("main").append(made);
    return made;
  };

  const load = async (address) => {
    const answer = await fetch(address).catch(() => null);
    const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page?.querySelector("[data-part=ask]");
    if (!part || answer.redirected) { location.assign(address); return; }
    const title = document.createElement("h2");
    title.id = "ask-title";
    title.textContent = part.querySelector("h1").textContent;
    const shown = document.adoptNode(part);
    shown.querySelector("h1").replaceWith(title);
    const asking = dialog();
    asking.replaceChildren(shown);
    if (!asking.open) asking.showModal();
    (asking.querySelector("[data-t=error-summary]") ?? asking.querySelector("form select, form [data-focus], form button"))?.focus();
    for (const text of asking.querySelectorAll("textarea[data-most]")) count(text);
  };

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const opener = event.target.closest?.("a[data-ask]");
    const cancel = event.target.closest?.("dialog#ask [data-cancel]");
    if (!opener && !cancel) return;
    event.preventDefault();
    if (opener) load(opener.href); else cancel.closest("dialog").close();
  });

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "get" || !form.closest("dialog#ask")) return;
    event.preventDefault();
    load(`${form.action.split("?")[0]}?${new URLSearchParams(new FormData(form))}`);
  });

  const count = (text) => {
    const most = Number(text.dataset.most);
    const has = [...text.value].length;
    const said = document.getElementById(`${text.id}-count`);
    const over = has > most;
    if (said) {
      said.textContent = `${has.toLocaleString("en")} of ${most.toLocaleString("en")} characters${over ? `: ${(has - most).toLocaleString("en")} too many` : ""}`;
      said.classList.toggle("error", over);
      if (over !== (said.dataset.over === "yes")) said.setAttribute("role", over ? "alert" : "presentation");
      said.dataset.over = over ? "yes" : "no";
    }
    text.setCustomValidity(over ? `At most ${most.toLocaleString("en")} characters are taken.` : "");
  };
  document.addEventListener("input", (event) => { if (event.target.matches?.("textarea[data-most]")) count(event.target); });
  for (const text of document.querySelectorAll("textarea[data-most]")) count(text);
}
