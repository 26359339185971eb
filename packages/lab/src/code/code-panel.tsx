/** Code to be read and copied, with what it is for to choose: framework, store, key. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { CopyButton } from '../ui/copy-button.tsx';
import {
  type CodeChoice,
  FRAMEWORK_TITLES,
  FRAMEWORKS,
  INITIAL_CHOICE,
  KEY_TITLES,
  KEYS,
  STORE_TITLES,
  STORES,
} from './choice.ts';
import { type CodeFile, codeFiles } from './code.ts';
import { tokensOf } from './highlight.ts';
import type { Coded } from './policy-code.ts';

/** What was chosen last is chosen first the next time. */
let latest: CodeChoice = INITIAL_CHOICE;

export interface CodePanelProps {
  readonly coded: Coded;
  readonly cost?: number;
  /** Where the state is to be kept, unless somebody chooses otherwise. */
  readonly store?: CodeChoice['store'] | undefined;
}

export function CodePanel({ coded, cost = 1, store }: CodePanelProps): JSX.Element {
  const [choice, setChoice] = useState<CodeChoice>(() => ({ ...latest, ...(store === undefined ? {} : { store }) }));
  const choose = (part: Partial<CodeChoice>): void => {
    latest = { ...choice, ...part };
    setChoice(latest);
  };
  const files = codeFiles(coded, choice, cost);
  return (
    <div class="code-panel">
      <div class="code-choices">
        <Choice
          label="Framework"
          titles={FRAMEWORK_TITLES}
          values={FRAMEWORKS}
          value={choice.framework}
          onChange={(framework) => choose({ framework })}
        />
        <Choice
          label="State in"
          titles={STORE_TITLES}
          values={STORES}
          value={choice.store}
          onChange={(chosen) => choose({ store: chosen })}
        />
        {!coded.kind.shapes && (
          <Choice
            label="Limit by"
            titles={KEY_TITLES}
            values={KEYS}
            value={choice.key}
            onChange={(key) => choose({ key })}
          />
        )}
      </div>
      {files.map((file) => (
        <File key={file.name} file={file} />
      ))}
    </div>
  );
}

function File({ file }: { readonly file: CodeFile }): JSX.Element {
  return (
    <figure class="code-file" data-file={file.name}>
      <figcaption>
        <span>{file.name}</span>
        <CopyButton text={file.text} label="Copy" />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what can be scrolled has to be reached by keyboard. */}
      <pre class="code" tabIndex={0}>
        <code>
          {tokensOf(file).map(({ kind, text }, index) =>
            kind === 'plain' ? (
              text
            ) : (
              <span key={index} class={`token-${kind}`}>
                {text}
              </span>
            ),
          )}
        </code>
      </pre>
    </figure>
  );
}

function Choice<Value extends string>(props: {
  readonly label: string;
  readonly titles: Readonly<Record<Value, string>>;
  readonly values: readonly Value[];
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}): JSX.Element {
  return (
    <label class="code-choice">
      <span>{props.label}</span>
      <select
        class="select compact"
        value={props.value}
        onChange={(event) => props.onChange(event.currentTarget.value as Value)}
      >
        {props.values.map((value) => (
          <option key={value} value={value}>
            {props.titles[value]}
          </option>
        ))}
      </select>
    </label>
  );
}
