/** Where the page starts. */
import { render } from 'preact';
import { App } from './app/app.tsx';
import { restoreTheme } from './theme/theme.ts';

restoreTheme();
render(<App />, document.getElementById('app')!);
