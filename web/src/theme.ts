// Light, dark, or what the system prefers. The choice lasts as long as the browser lets a page remember it.

import { h } from "./dom";

const KEY = "onnx-tag-theme";
const THEMES = ["system", "light", "dark"] as const;
const NAMES = { system: "System colours", light: "Light", dark: "Dark" };

function remembered(): string {
  try {
    return localStorage.getItem(KEY) ?? "system";
  } catch {
    return "system"; // pages opened from a file may have no storage
  }
}

/** Calls `changed` when the colours of the style sheet are others. */
export function themeButton(changed: () => void): HTMLElement {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  let theme = THEMES.find((name) => name === remembered()) ?? "system";
  const button = h("button", { type: "button", class: "quiet", title: "Light or dark" });
  const apply = (): void => {
    const dark = theme === "dark" || (theme === "system" && prefersDark.matches);
    document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    button.textContent = NAMES[theme];
    changed();
  };
  prefersDark.addEventListener("change", apply);
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The choice then lasts until the page is closed.
    }
    apply();
  });
  apply();
  return button;
}
