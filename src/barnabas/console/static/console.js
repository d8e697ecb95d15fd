// The few things that pages need a script for. Everything can be read without it.
"use strict";

// -- theme ------------------------------------------------------------------------------------------

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // Forbidden storage only means that the next page begins with the system's theme.
  }
}

// -- forms that change something: the error appears beside the form, and no typed text is lost --------

function problemOf(form) {
  let place = form.querySelector(":scope > .problem");
  if (!place) {
    place = document.createElement("p");
    place.className = "problem";
    place.setAttribute("role", "alert");
    form.append(place);
  }
  return place;
}

async function sendChange(form, submitter) {
  const buttons = form.querySelectorAll("button");
  const fields = new FormData(form);
  if (submitter && submitter.name) fields.append(submitter.name, submitter.value);
  buttons.forEach((each) => { each.disabled = true; });
  try {
    const isMultipart = form.enctype === "multipart/form-data";
    const answer = await fetch(form.action, {
      method: "POST",
      body: isMultipart ? fields : new URLSearchParams(fields),
      headers: { Accept: "application/json" },
      redirect: "error",
    });
    const body = await answer.json();
    if (answer.ok && body.location) {
      const target = new URL(body.location, location.href);
      // An address that differs from this one in its fragment alone would not load again. To load it
      // twice would lose the notice, which is shown once.
      if (target.pathname + target.search === location.pathname + location.search) location.reload();
      else location.assign(target);
      return;
    }
    problemOf(form).textContent = body.error || "The console did not understand its own form.";
  } catch {
    problemOf(form).textContent = "The console does not answer.";
  }
  buttons.forEach((each) => { each.disabled = false; });
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form instanceof HTMLFormElement && form.hasAttribute("data-change")) {
    event.preventDefault();
    sendChange(form, event.submitter);
  }
});

// -- keyboard and buttons ---------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const search = document.querySelector("[data-search]");
    if (search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  }
});

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target.closest("[data-action]") : null;
  if (!target) return;
  if (target.dataset.action === "theme") switchTheme();
  if (target.dataset.action === "copy") {
    const source = document.getElementById(target.dataset.copies);
    if (source) navigator.clipboard.writeText(source.value || source.textContent).then(() => { target.textContent = "Copied"; });
  }
});

document.addEventListener("change", (event) => {
  const target = event.target;
  if (target instanceof Element && target.hasAttribute("data-submits")) target.form.requestSubmit();
  // Elements that belong to one choice are shown with it: data-shown-with="name=value other".
  if (target instanceof HTMLSelectElement) showChosen(target);
});

function showChosen(select) {
  const form = select.form;
  if (!form) return;
  form.querySelectorAll(`[data-shown-with^="${CSS.escape(select.name)}="]`).forEach((each) => {
    const values = each.dataset.shownWith.slice(select.name.length + 1).split(" ");
    each.classList.toggle("unchosen", !values.includes(select.value));
  });
}
document.querySelectorAll("select").forEach(showChosen);

// -- moments in the reader's own time zone ------------------------------------------------------------

function localMoments(root) {
  root.querySelectorAll("time[datetime]:not([title])").forEach((each) => {
    const moment = new Date(each.dateTime);
    if (!Number.isNaN(moment.valueOf())) each.title = moment.toLocaleString();
  });
}
localMoments(document);
document.addEventListener("htmx:afterSwap", (event) => localMoments(event.target));

// -- charts: data-chart names an element with JSON {labels, series: [{label, values}]} ----------------

function draw(place) {
  const source = document.getElementById(place.dataset.chart);
  if (!source || typeof uPlot === "undefined") return;
  const data = JSON.parse(source.textContent);
  const colours = ["#2f7ddb", "#c2571a", "#2c9658", "#9b5cd6", "#c23b6f", "#7a8699"];
  const text = getComputedStyle(document.body).color;
  const axis = { stroke: text, grid: { stroke: "#88888833" }, ticks: { stroke: "#88888866" } };
  place.replaceChildren();
  new uPlot(
    {
      width: place.clientWidth - parseFloat(getComputedStyle(place).paddingLeft) * 2 || 600,
      height: 200,
      axes: [axis, { ...axis, size: 70 }],
      series: [{}, ...data.series.map((each, index) => ({ label: each.label, stroke: colours[index % colours.length], width: 2 }))],
    },
    [data.labels, ...data.series.map((each) => each.values)],
    place,
  );
}
document.querySelectorAll("[data-chart]").forEach(draw);
addEventListener("resize", () => document.querySelectorAll("[data-chart]").forEach(draw));
document.addEventListener("htmx:afterSwap", (event) => event.target.querySelectorAll("[data-chart]").forEach(draw));
