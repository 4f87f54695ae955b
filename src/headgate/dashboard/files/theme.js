// Before anything is drawn: light or dark, as somebody chose here before, or as the system has it.
(() => {
  try {
    const chosen = localStorage.getItem("headgate-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // A browser that keeps nothing has no choice to tell of.
  }
})();
