/** The shell around the four pages: name, navigation, help, theme. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { linksIn } from '../help/links.ts';
import { LabPage } from '../page/lab-page.tsx';
import { ThemeToggle } from '../theme/theme-toggle.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { IconButton } from '../ui/icons.tsx';
import { later } from '../ui/later.tsx';
import { type Page, useRoute } from './route.ts';
import { titleOf } from './titles.ts';

const HelpDialog = later(async () => (await import('../help/help-dialog.tsx')).HelpDialog, null);
const ChooserPage = later(async () => (await import('../chooser/chooser-page.tsx')).ChooserPage);
const BacktestPage = later(async () => (await import('../backtest/backtest-page.tsx')).BacktestPage);
const LivePage = later(async () => (await import('../live/live-page.tsx')).LivePage);

const PAGES: readonly { readonly page: Page; readonly href: string; readonly label: string }[] = [
  { page: 'lab', href: '#/', label: 'Lab' },
  { page: 'choose', href: '#/choose', label: 'Choose' },
  { page: 'backtest', href: '#/backtest', label: 'Backtest' },
  { page: 'live', href: '#/live', label: 'Live' },
];

export function App(): JSX.Element {
  const { page, parameters } = useRoute();
  const [hasHelp, setHelp] = useState(false);
  const isEmbedded = page === 'lab' && parameters.has('embed');
  const title = titleOf(page, parameters);
  useEffect(() => {
    document.title = title;
  }, [title]);
  return (
    <>
      <button type="button" class="skip-link" onClick={() => document.getElementById('main')!.focus()}>
        Skip to the content
      </button>
      {!isEmbedded && <Header page={page} onHelp={() => setHelp(true)} />}
      <main id="main" tabIndex={-1} data-page={page}>
        {page === 'lab' && <LabPage parameters={parameters} onHelp={() => setHelp(true)} />}
        {page === 'choose' && <ChooserPage parameters={parameters} />}
        {page === 'backtest' && <BacktestPage />}
        {page === 'live' && <LivePage />}
      </main>
      {hasHelp && <HelpDialog onClose={() => setHelp(false)} />}
    </>
  );
}

function Header(props: { readonly page: Page; readonly onHelp: () => void }): JSX.Element {
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="Sluice lab">
        <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="8" />
          <path d="M7 9h18M7 16h11M7 23h5" />
        </svg>
        <span>Sluice</span>
      </a>
      <nav class="tabs" aria-label="Pages">
        {PAGES.map(({ page, href, label }) => (
          <a key={page} href={href} aria-current={page === props.page ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <div class="top-links">
        <span class="install">
          <code>npm i sluice</code>
          <CopyButton text="npm install sluice" label="Copy" />
        </span>
        {linksIn(document).map(({ label, href }) => (
          <a key={label} href={href}>
            {label}
          </a>
        ))}
      </div>
      <IconButton icon="help" label="Help and keys (?)" onClick={props.onHelp} />
      <ThemeToggle />
    </header>
  );
}
