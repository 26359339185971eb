/** Light or dark: as the system has it, unless this browser was told otherwise. */
export type Theme = 'light' | 'dark';

const STORED_AS = 'sluice-theme';
const prefersDark = (): boolean => matchMedia('(prefers-color-scheme: dark)').matches;

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'light' || chosen === 'dark' ? chosen : prefersDark() ? 'dark' : 'light';
}

export function chooseTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  remember(theme);
  dispatchEvent(new Event('themechange'));
}

export function restoreTheme(): void {
  const stored = recall();
  if (stored === 'light' || stored === 'dark') document.documentElement.dataset.theme = stored;
  for (const query of ['(prefers-color-scheme: dark)', '(forced-colors: active)']) {
    matchMedia(query).addEventListener('change', () => dispatchEvent(new Event('themechange')));
  }
  // What was written on a canvas before the font was there is written again.
  void document.fonts.ready.then(() => dispatchEvent(new Event('themechange')));
}

/** Colours of the theme by name, for canvases, which know neither custom properties nor light-dark(). */
export function themeColors<Name extends string>(names: readonly Name[]): Record<Name, string> {
  const probe = document.body.appendChild(document.createElement('i'));
  // Otherwise every colour that is asked for is the one of texts, where colours are forced.
  probe.style.forcedColorAdjust = 'none';
  const colors = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(colors);
}

/** Storage can be forbidden; then the choice lasts as long as the page. */
function remember(theme: Theme): void {
  try {
    localStorage.setItem(STORED_AS, theme);
  } catch {
    return;
  }
}

function recall(): string | null {
  try {
    return localStorage.getItem(STORED_AS);
  } catch {
    return null;
  }
}
