/** What there is to know about the page itself: keys, marks, how to install, and where to read on. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { areShortcutsOn, SHORTCUTS, turnShortcuts } from '../controls/shortcuts.ts';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Mark } from '../ui/mark.tsx';
import { linksIn } from './links.ts';

export function HelpDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Help" onClose={onClose}>
      <div class="help">
        <Reading />
        <Keys />
        <Using />
      </div>
    </Dialog>
  );
}

function Reading(): JSX.Element {
  return (
    <section>
      <h3>Reading the rows</h3>
      <ul class="legend">
        <li>
          <Mark outcome="allowed" /> allowed
        </li>
        <li>
          <Mark outcome="denied" /> denied
        </li>
        <li>
          <Mark outcome="delayed" /> allowed, and acts here; the ring shows when it came
        </li>
        <li>
          <span class="over" aria-hidden="true" /> more than the limit within one window
        </li>
      </ul>
      <p>
        Every mark is a request at the time it came. The curve above the marks shows how much was allowed within one
        window, against the limit. Drag the axis to look back, drag the lanes to move them, and zoom with the wheel or
        with two fingers.
      </p>
    </section>
  );
}

function Keys(): JSX.Element {
  const [on, setOn] = useState(areShortcutsOn);
  return (
    <section>
      <h3>Keys</h3>
      <dl class="keys">
        {SHORTCUTS.map(({ shown, does }) => (
          <div key={shown}>
            <dt>
              <kbd>{shown}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => {
            turnShortcuts(event.currentTarget.checked);
            setOn(event.currentTarget.checked);
          }}
        />
        Use these keys
      </label>
    </section>
  );
}

function Using(): JSX.Element {
  return (
    <section>
      <h3>Use it in your code</h3>
      <p class="install">
        <code>npm install sluice</code> <CopyButton text="npm install sluice" label="Copy" />
      </p>
      <p>
        Open a row and choose <b>Code</b> for your framework and store, or let <a href="#/choose">Choose</a> find an
        algorithm first. The package has its documentation in <code>node_modules/sluice/docs</code>. Sluice is free
        software under the MIT licence; the font is Inter, under the SIL Open Font License.
      </p>
      <ul class="links">
        {linksIn(document).map(({ label, href }) => (
          <li key={label}>
            <a href={href}>{label}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}
