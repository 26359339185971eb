/** A card as code, to be copied. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLab } from '../app/frames.ts';
import type { CardId } from '../cards/catalog.ts';
import { CopyButton } from '../controls/copy-button.tsx';
import { Segments } from '../controls/segments.tsx';
import { codeOf, LANGUAGES } from './code.ts';

export function CardCode({ id }: { readonly id: CardId }): JSX.Element {
  const { lab } = useLab();
  const [language, setLanguage] = useState<(typeof LANGUAGES)[number]>('TypeScript');
  const code = codeOf(language, id, lab.policies[id], lab.setup.cost, location.origin);
  return (
    <div class="drawer">
      <div class="drawer-bar">
        <Segments
          label="Language"
          options={LANGUAGES.map((name) => ({ value: name, label: name }))}
          value={language}
          onChange={setLanguage}
        />
        <CopyButton text={code} label="Copy" />
      </div>
      <pre class="code">
        <code>{code}</code>
      </pre>
    </div>
  );
}
