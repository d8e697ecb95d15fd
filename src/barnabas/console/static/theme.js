// Runs before the page is drawn, so that a chosen theme does not flash in the other one.
"use strict";
(() => {
  // Parts of a form that belong to another choice are hidden only where a script can show them again.
  document.documentElement.classList.add("scripted");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // A browser may forbid storage; the system's theme is used then.
  }
})();
