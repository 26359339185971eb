/** One button between light and dark. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { IconButton } from '../ui/icons.tsx';
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
    <IconButton
      icon={theme === 'dark' ? 'sun' : 'moon'}
      label={`Switch to the ${other} theme`}
      onClick={() => chooseTheme(other)}
    />
  );
}
