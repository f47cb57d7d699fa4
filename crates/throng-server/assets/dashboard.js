// Makes forms answer while one types or moves a slider. Everything works without it, by their buttons.
//
// A form with data-live="NAME" is asked again, with part=1, whenever a field of it changes, and the
// answer takes the place of what is inside the element of that id. An answer that holds an element with
// data-again is not complete yet, and is asked for once more a moment later.
"use strict";

for (const form of document.querySelectorAll("form[data-live]")) {
  const place = document.getElementById(form.dataset.live);
  let newest = 0;
  let last;
  let timer;

  const ask = async () => {
    const mine = ++newest;
    const query = new URLSearchParams(new FormData(form));
    const shown = `${form.getAttribute("action")}?${query}`;
    query.set("part", "1");
    // What is asked for once more stays as it is meanwhile.
    if (!place.querySelector("[data-again]")) place.classList.add("busy");
    let text;
    try {
      const answer = await fetch(`${form.getAttribute("action")}?${query}`);
      // A session that ended answers with the page that asks for a token.
      if (!answer.ok || answer.redirected) {
        location.assign(shown);
        return;
      }
      text = await answer.text();
    } catch {
      return;
    } finally {
      if (mine === newest) place.classList.remove("busy");
    }
    if (mine !== newest) return;
    // Unchanged, it is not read out again.
    if (text !== last) place.innerHTML = text;
    last = text;
    history.replaceState(null, "", shown);
    if (place.querySelector("[data-again]")) later(300);
  };

  const later = (pause) => {
    clearTimeout(timer);
    timer = setTimeout(ask, pause);
  };

  // The number beside a slider that may be typed instead.
  const typed = (slider) => form.elements[slider.name.replace(/_step$/, "")];

  form.addEventListener("input", ({ target }) => {
    // What was moved last counts.
    if (target.type === "range") typed(target).value = "";
    for (const output of form.querySelectorAll("output[for]")) {
      const slider = form.elements[output.htmlFor.value];
      const words = slider.dataset.words.split(" ");
      output.value = typed(slider).value || words[Number(slider.value)];
    }
    later(80);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    later(0);
  });
  if (place.querySelector("[data-again]")) later(300);
}
