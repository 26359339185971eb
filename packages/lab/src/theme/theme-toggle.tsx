/** One button between light and dark. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { chooseTheme, currentTheme } from './theme.ts';

export function ThemeToggle(): JSX.Element {
  const [theme, setTheme] = useState(currentTheme);
  useEffect(() => {
    const follow = (): void => setTheme(currentTheme());
    addEventListener('themechange', follow);
    return () => removeEventListener('themechange', follow);
  }, []);
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Switch to the ${other} theme`}
      onClick={() => chooseTheme(other)}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        {theme === 'dark' ? (
          <path d="M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10Zm0-5v2m0 16v2M2 12h2m16 0h2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4m0-14.2-1.4 1.4M6.3 17.7l-1.4 1.4" />
        ) : (
          <path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z" />
        )}
      </svg>
    </button>
  );
}
