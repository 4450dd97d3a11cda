// The review queue's own quickness: ticks that last while one moves, ranges, and jumps between pieces of evidence.
"use strict";

(() => {
  const ticked = new Set();
  let last = null;
  const boxes = () => [...document.querySelectorAll(".waiting input[name=memory]")];

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (!box.matches?.(".waiting input[name=memory]")) return;
    if (box.checked) ticked.add(box.value); else ticked.delete(box.value);
    last = box.value;
    event.stopPropagation();
  }, true);

  document.addEventListener("htmx:after:swap", () => {
    const there = new Set(boxes().map((box) => box.value));
    for (const value of ticked) if (!there.has(value)) ticked.delete(value);
    for (const box of boxes()) box.checked = ticked.has(box.value);
    document.querySelector(".waiting a[aria-current]")?.scrollIntoView({ block: "nearest" });
  });

  // Shift+x ticks everything from the last tick to the memory shown, as a click with Shift does.
  const range = () => {
    const all = boxes();
    const here = all.findIndex((box) => box.dataset.key === "x");
    const from = all.findIndex((box) => box.value === last);
    if (here < 0) return;
    const [low, high] = from < 0 ? [here, here] : [Math.min(here, from), Math.max(here, from)];
    for (const box of all.slice(low, high + 1)) { box.checked = true; ticked.add(box.value); }
    last = all[here].value;
  };

  const jump = (step) => {
    const marks = [...document.querySelectorAll("#review mark")];
    if (!marks.length) return;
    const at = marks.indexOf(document.activeElement);
    marks[(at + step + marks.length + (at < 0 && step < 0 ? 1 : 0)) % marks.length].focus();
  };

  document.addEventListener("keydown", (event) => {
    if (document.body.dataset.keys !== "on" || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (/^(SELECT|TEXTAREA)$/.test(event.target.tagName) || (event.target.tagName === "INPUT" && event.target.type !== "checkbox")) return;
    if (event.key === "X") range();
    else if (event.key === "n") jump(1);
    else if (event.key === "p") jump(-1);
  });
})();
