// Light or dark: as the system has it, unless chosen.
import { signal } from "@preact/signals";

export type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>(system.matches ? "dark" : "light");

system.addEventListener("change", () => choose(system.matches ? "dark" : "light"));

export function choose(wanted: Theme): void {
  document.documentElement.dataset.theme = wanted;
  theme.value = wanted;
}

choose(theme.value);
