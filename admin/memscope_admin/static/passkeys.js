// Passkeys: asks the browser for one and sends its answer by the form. Where there are none, the form stays hidden.
"use strict";

const known = Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON && window.PublicKeyCredential?.parseCreationOptionsFromJSON);
const RENEWED_MS = 4 * 60 * 1000;
let waiting = null;
let asked = false;

// One after the other: each answer's cookie names the challenges so far, and of two at once one would be forgotten.
let fetching = Promise.resolve();
const options = (form) => {
  const answer = fetching.catch(() => null).then(() => fetch(form.dataset.options, { headers: { Accept: "application/json" } }));
  fetching = answer;
  return answer.then((found) => (found.ok ? found.json() : Promise.reject(new Error("no options"))));
};

const ask = async (form, automatic) => {
  waiting?.abort();
  const abort = waiting = new AbortController();
  const said = await options(form);
  if (abort.signal.aborted) return;
  const found = form.dataset.passkey === "create"
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(said), signal: abort.signal })
    : await navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(said), signal: abort.signal,
        ...(automatic ? { mediation: "conditional" } : {}),
      });
  form.elements.credential.value = JSON.stringify(found.toJSON());
  form.submit();
};

for (const form of known ? document.querySelectorAll("form[data-passkey]") : []) {
  const problem = form.querySelector("[data-passkey-problem]");
  form.hidden = false;
  form.querySelector("button").addEventListener("click", async () => {
    problem.textContent = "";
    asked = true;
    try {
      await ask(form, false);
    } catch (error) {
      problem.textContent = error.name === "InvalidStateError" ? "This device has a passkey of yours already." : "That did not work, or it was called off. You can try again.";
    } finally {
      asked = false;
    }
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); form.querySelector("button").click(); });
}
for (const text of known ? document.querySelectorAll("[data-passkey-missing]") : []) text.hidden = true;

// While the sign-in page is open the address field offers passkeys. A challenge lasts five minutes, so it is asked for anew before.
const automatic = known && document.querySelector("form[data-passkey=get][data-automatic]");
if (automatic) {
  (async () => {
    if (!await PublicKeyCredential.isConditionalMediationAvailable?.()) return;
    const begin = () => { if (!asked && document.visibilityState === "visible") ask(automatic, true).catch(() => null); };
    begin();
    setInterval(begin, RENEWED_MS);
  })();
}
