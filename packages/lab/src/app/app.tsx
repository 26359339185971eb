/** The shell around the three pages: name, navigation, theme. */
import type { JSX } from 'preact';
import { ChooserPage } from '../chooser/chooser-page.tsx';
import { LivePage } from '../live/live-page.tsx';
import { ThemeToggle } from '../theme/theme-toggle.tsx';
import { LabPage } from './lab-page.tsx';
import { type Page, useRoute } from './route.ts';

const PAGES: readonly { readonly page: Page; readonly href: string; readonly label: string }[] = [
  { page: 'lab', href: '#/', label: 'Lab' },
  { page: 'choose', href: '#/choose', label: 'Choose' },
  { page: 'live', href: '#/live', label: 'Live' },
];

export function App(): JSX.Element {
  const { page, parameters } = useRoute();
  return (
    <>
      <button type="button" class="skip-link" onClick={() => document.getElementById('main')!.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href="#/" aria-label="Sluice lab">
          <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="8" />
            <path d="M7 9h18M7 16h11M7 23h5" />
          </svg>
          <span>Sluice</span>
        </a>
        <nav class="tabs" aria-label="Pages">
          {PAGES.map(({ page: target, href, label }) => (
            <a key={target} href={href} aria-current={target === page ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <ThemeToggle />
      </header>
      <main id="main" tabIndex={-1}>
        {page === 'lab' && <LabPage parameters={parameters} />}
        {page === 'choose' && <ChooserPage />}
        {page === 'live' && <LivePage />}
      </main>
    </>
  );
}
