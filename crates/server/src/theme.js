// The theme that was chosen on any page of the dashboard; the system's own unless one was.
(() => {
  const root = document.documentElement;
  const choice = document.getElementById("theme");
  let theme = "auto";
  try {
    theme = localStorage.getItem("gpuscope-theme") ?? "auto";
  } catch {
    // Where nothing may be kept, the system decides.
  }
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  // On a narrow screen the bar is longer than what is to be seen of it.
  document.querySelector("nav.top [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
  if (!choice) return;
  choice.hidden = false;
  choice.value = root.dataset.theme ?? "auto";
  choice.addEventListener("change", () => {
    try {
      localStorage.setItem("gpuscope-theme", choice.value);
    } catch {
      return;
    }
    // Charts are drawn in their colours once.
    location.reload();
  });
})();
