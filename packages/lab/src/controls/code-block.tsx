/** The same thing in one language or another, to be read and copied. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from './copy-button.tsx';
import { Segments } from './segments.tsx';

export function CodeBlock<Language extends string>(props: {
  /** The first one is shown first. */
  readonly languages: readonly [Language, ...Language[]];
  readonly codeIn: (language: Language) => string;
  /** The classes of what surrounds it all, and of the bar above the code. */
  readonly frame: string;
  readonly bar: string;
}): JSX.Element {
  const { languages, codeIn, frame, bar } = props;
  const [language, setLanguage] = useState<Language>(languages[0]);
  const code = codeIn(language);
  return (
    <div class={frame}>
      <div class={bar}>
        <Segments
          label="Language"
          options={languages.map((name) => ({ value: name, label: name }))}
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
