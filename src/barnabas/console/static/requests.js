// Requests that htmx makes for a part of a page, and that fail. Without this script the part would
// stay as it is, and the person would take old rows for the answer.
//
// A sentence appears at the bottom of the window, so that nothing moves below the pointer. It goes
// away when the same part is loaded. Parts that load again by themselves go on doing so.
"use strict";
(() => {
  // The source is the element that asked; a form asks again with what is typed in it now.
  let source = null;

  function place() {
    let found = document.getElementById("request-problem");
    if (!found) {
      found = document.createElement("div");
      found.id = "request-problem";
      found.className = "problem";
      found.setAttribute("role", "alert");
      document.getElementById("main").append(found);
    }
    return found;
  }

  function hide() {
    source = null;
    document.getElementById("request-problem")?.remove();
  }

  function show(sentence, remedy) {
    const words = document.createElement("span");
    words.textContent = `${sentence} The page shows what it had before.`;
    place().replaceChildren(words, remedy);
  }

  function tryAgain(detail) {
    const button = document.createElement("button");
    const { elt, verb } = detail.requestConfig;
    button.type = "button";
    button.textContent = "Try again";
    button.addEventListener("click", () => {
      button.disabled = true;
      htmx.ajax(verb, detail.pathInfo.requestPath, { source: elt }).catch(() => {});
    });
    return button;
  }

  function logIn(address) {
    const link = document.createElement("a");
    address.searchParams.set("next", location.pathname + location.search);
    link.className = "button";
    link.href = address.pathname + address.search;
    link.textContent = "Log in";
    return link;
  }

  // A parsed document runs no script and loads nothing.
  function parsed(xhr) {
    return new DOMParser().parseFromString(xhr.responseText, "text/html");
  }

  function sentenceOf(xhr) {
    if ((xhr.getResponseHeader("Content-Type") || "").startsWith("text/html")) {
      const told = parsed(xhr).querySelector("main [role=alert]")?.textContent.trim();
      if (told) return told;
    }
    return xhr.status < 400 ? "The console answered with another page." : `The console answered with status ${xhr.status}.`;
  }

  // A page without the part, such as the one for the login, would replace the part with nothing.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { detail } = event;
    const select = detail.requestConfig.elt.getAttribute("hx-select");
    if (detail.shouldSwap && select && !parsed(detail.xhr).querySelector(select)) {
      detail.shouldSwap = false;
      detail.isError = true;
    }
  });

  document.addEventListener("htmx:responseError", (event) => {
    const { detail } = event;
    const address = new URL(detail.xhr.responseURL || location.href);
    source = detail.requestConfig.elt;
    if (address.pathname === "/login") show("Your login has ended.", logIn(address));
    else show(sentenceOf(detail.xhr), tryAgain(detail));
  });

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      source = event.detail.requestConfig.elt;
      show("The console does not answer.", tryAgain(event.detail));
    });
  }

  document.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful && event.detail.requestConfig.elt === source) hide();
  });

  // What a person typed before htmx was there is searched for too.
  document.addEventListener("DOMContentLoaded", () => {
    const search = document.querySelector("[hx-get] [data-search]");
    if (search && search.value !== search.defaultValue) htmx.trigger(search.form, "submit");
  });
})();
