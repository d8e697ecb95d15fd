// Live tails, searches with progress, and the slider of times on a page of records.
"use strict";
(() => {
  const ROWS_MAX = 500;
  const panel = document.getElementById("live");
  const text = document.getElementById("live-text");
  const progress = document.getElementById("live-progress");
  const rows = document.getElementById("records");
  const form = document.getElementById("selection");
  let source = null;

  function stop(sentence) {
    if (source) source.close();
    source = null;
    if (sentence) text.textContent = sentence;
  }

  // The row is HTML that the console made from an escaped template; a template element runs no script.
  function row(html) {
    const template = document.createElement("template");
    template.innerHTML = html.trim();
    return template.content.querySelector("tr");
  }

  // An EventSource does not tell why it was refused; a plain request does.
  async function explain(url) {
    const abort = new AbortController();
    const answer = await fetch(url, { signal: abort.signal });
    if (answer.ok) abort.abort();
    else text.textContent = (await answer.json()).error;
  }

  function start(kind, url) {
    stop();
    const query = new URLSearchParams(new FormData(form));
    if (kind === "search" && query.get("begin") === "newest") query.set("begin", "oldest");
    rows.replaceChildren();
    const empty = document.getElementById("no-records");
    if (empty) empty.remove();
    document.getElementById("summary").textContent = "";
    panel.classList.remove("hidden");
    progress.classList.toggle("hidden", kind === "tail");
    progress.value = 0;
    text.textContent = kind === "tail" ? "Waiting for new records." : "Searching.";
    let seen = 0;
    let skipped = 0;
    source = new EventSource(`${url}?${query}`);
    source.addEventListener("record", (event) => {
      seen += 1;
      const made = row(JSON.parse(event.data).row);
      if (kind === "tail") rows.prepend(made); else rows.append(made);
      while (rows.children.length > ROWS_MAX) (kind === "tail" ? rows.lastElementChild : rows.firstElementChild).remove();
      if (kind === "tail") text.textContent = `${seen} new records${skipped ? `, ${skipped} left out because they came too fast` : ""}.`;
    });
    source.addEventListener("progress", (event) => {
      const data = JSON.parse(event.data);
      skipped += data.skipped || 0;
      if (kind === "search") {
        progress.value = data.share;
        text.textContent = `${data.matches} matches in ${data.scanned} records, ${Math.floor(data.share * 100)} %.`;
      }
    });
    source.addEventListener("problem", (event) => { text.textContent = JSON.parse(event.data).sentence; });
    source.addEventListener("done", (event) => {
      const data = JSON.parse(event.data);
      stop(kind === "search" ? `${data.matches} matches in ${data.scanned} records${data.is_limited ? "; there may be more" : ""}. Done.` : "The tail has ended.");
      progress.value = 1;
    });
    // The browser would connect again after an error, and show all matches twice.
    source.onerror = () => {
      stop(seen ? "The connection is lost." : "The console refuses.");
      if (!seen) explain(`${url}?${query}`);
    };
  }

  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-records]") : null;
    if (!button) return;
    if (button.dataset.records === "stop") stop(source ? `${text.textContent} Stopped.` : "");
    else start(button.dataset.records, button.dataset.url);
  });

  // A file has the matches of the form as it is now, which may have changed since the page was made.
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("[data-exports]") : null;
    if (!link) return;
    const url = new URL(link.href);
    const query = new URLSearchParams(new FormData(form));
    query.delete("size");
    if (query.get("begin") === "newest") query.set("begin", "oldest");
    query.set("format", link.dataset.exports);
    url.search = query;
    link.href = url;
  });

  // The slider begins at the time of the page. A time without a zone is UTC.
  const slider = document.getElementById("time-slider");
  if (slider) {
    const typed = document.getElementById(slider.dataset.sets).value.trim();
    const moment = Date.parse(typed) && Date.parse(/Z$|[+-]\d\d:?\d\d$/i.test(typed) ? typed : `${typed}Z`);
    if (moment) slider.value = moment;
  }

  document.addEventListener("input", (event) => {
    const slider = event.target;
    if (slider instanceof HTMLInputElement && slider.dataset.sets) {
      document.getElementById(slider.dataset.sets).value = new Date(Number(slider.value)).toISOString();
    }
  });
})();
