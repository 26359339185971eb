/** The theme's colours for canvases, read again when the theme changes. */
import { themeColors } from '../theme/theme.ts';

const NAMES = [
  'surface',
  'sunken',
  'ink',
  'soft',
  'faint',
  'line',
  'line-strong',
  'ghost',
  'accent',
  'allowed',
  'allowed-wash',
  'denied',
  'denied-wash',
  'over',
  'delayed',
  'delayed-wash',
] as const;

export type Palette = Readonly<Record<(typeof NAMES)[number], string>>;

let palette: Palette | undefined;
let version = 0;
addEventListener('themechange', () => {
  palette = undefined;
  version += 1;
});

export function currentPalette(): Palette {
  palette ??= themeColors(NAMES);
  return palette;
}

/** Goes up when colours change, so that what was drawn with the old ones is drawn again. */
export function paletteVersion(): number {
  return version;
}
