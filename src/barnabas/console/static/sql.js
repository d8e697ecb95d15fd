// Runs queries as streams of events, and completes words of a query.
"use strict";
(() => {
  const ROWS_MAX = 1000;
  const form = document.getElementById("sql-form");
  const query = document.getElementById("sql-query");
  const words = document.getElementById("sql-words");
  const status = document.getElementById("sql-status");
  const problem = document.getElementById("sql-problem");
  const head = document.getElementById("sql-head");
  const rows = document.getElementById("sql-rows");
  const chart = document.getElementById("sql-chart");
  const table = document.getElementById("sql-table");
  const stopButton = form.querySelector("[data-sql=stop]");
  let source = null;

  // The HTML is made by the console from escaped templates; a template element runs no script.
  function parsed(html) {
    const template = document.createElement("template");
    template.innerHTML = html.trim();
    return template.content;
  }

  function stop(sentence) {
    if (source) source.close();
    source = null;
    stopButton.disabled = true;
    if (sentence !== undefined) status.textContent = sentence;
  }

  function start(follows) {
    stop();
    hideWords();
    if (!query.value.trim()) return;
    const parameters = new URLSearchParams({ query: query.value });
    history.replaceState(null, "", `${form.getAttribute("action")}?${parameters}`);
    if (follows) {
      parameters.set("follow", "true");
      if (document.getElementById("sql-from-beginning").checked) parameters.set("from_beginning", "true");
    }
    let count = 0;
    rows.replaceChildren();
    head.replaceChildren();
    chart.replaceChildren();
    table.classList.add("hidden");
    problem.classList.add("hidden");
    status.textContent = "Running.";
    stopButton.disabled = false;
    source = new EventSource(`${form.dataset.stream}?${parameters}`);
    source.addEventListener("columns", (event) => {
      head.replaceChildren(parsed(JSON.parse(event.data).head));
      rows.replaceChildren();
      table.classList.remove("hidden");
      count = 0;
      if (follows) status.textContent = "Waiting for records.";
    });
    source.addEventListener("row", (event) => {
      count += 1;
      rows.append(parsed(JSON.parse(event.data).html));
      while (rows.children.length > ROWS_MAX) rows.firstElementChild.remove();
      status.textContent = `${count} ${count === 1 ? "row" : "rows"} so far.`;
    });
    source.addEventListener("chart", (event) => chart.replaceChildren(parsed(JSON.parse(event.data).html)));
    source.addEventListener("done", (event) => stop(JSON.parse(event.data).sentence));
    source.addEventListener("failed", (event) => fail(JSON.parse(event.data).sentence));
    // The browser would connect again, and run the query again.
    source.onerror = () => fail("The console refused the query, or the connection is lost.");
  }

  function fail(sentence) {
    stop("");
    problem.textContent = sentence;
    problem.classList.remove("hidden");
  }

  // -- completion -------------------------------------------------------------------------------------

  let waiting = 0;
  let asked = 0;
  let typed = "";

  function hideWords() {
    clearTimeout(waiting);
    asked += 1;
    words.replaceChildren();
  }

  async function complete() {
    const number = (asked += 1);
    const position = query.selectionStart;
    try {
      const answer = await fetch(`${form.dataset.complete}?${new URLSearchParams({ query: query.value, position })}`);
      if (!answer.ok) return;
      const found = await answer.json();
      if (number !== asked || position !== query.selectionStart) return;
      typed = found.typed;
      words.replaceChildren(...found.words.map((each) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = each.text;
        button.title = each.kind;
        button.dataset.word = each.text;
        return button;
      }));
    } catch {
      // Typing goes on without completion.
    }
  }

  function take(word) {
    const position = query.selectionStart;
    query.setRangeText(word, position - typed.length, position, "end");
    hideWords();
    query.focus();
  }

  query.addEventListener("input", () => {
    // The proposals are for what was typed before; taken now, they would replace too little of it.
    hideWords();
    waiting = setTimeout(complete, 150);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start(false);
    } else if (event.key === "Escape") {
      hideWords();
    } else if (event.key === "Tab" && !event.shiftKey && typed && words.firstElementChild) {
      event.preventDefault();
      take(words.firstElementChild.dataset.word);
    }
  });
  words.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-word]") : null;
    if (button) take(button.dataset.word);
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start(false);
  });
  form.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest("[data-sql]") : null;
    if (!button) return;
    if (button.dataset.sql === "follow") start(true);
    if (button.dataset.sql === "stop") stop(`${status.textContent} Stopped.`);
  });
})();
