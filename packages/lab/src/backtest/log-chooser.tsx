/** Where a log comes from: dropped, chosen, or the sample. */
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { sampleLog } from './sample-log.ts';

const KEYS = ['ip', 'user', 'user | ip', 'ip + route', 'everyone'];

export function LogChooser(props: {
  readonly onOpen: (log: Blob, name: string, key: string, format: string) => void;
}): JSX.Element {
  const [key, setKey] = useState('ip');
  const [format, setFormat] = useState('');
  const [isOver, setOver] = useState(false);
  const last = useRef<{ readonly log: Blob; readonly name: string } | undefined>(undefined);
  const open = (log: Blob, name: string): void => {
    last.current = { log, name };
    props.onOpen(log, name, key.trim(), format.trim());
  };
  const take = (file: File | null | undefined): void => {
    if (file) open(file, file.name);
  };
  /** Who is a client, or the format, is another one now. */
  const openAgain = (): void => {
    if (last.current !== undefined) open(last.current.log, last.current.name);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is one of three ways; the others are buttons.
    <div
      class={isOver ? 'backtest-drop over' : 'backtest-drop'}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        take(event.dataTransfer?.files[0]);
      }}
    >
      <label class="button">
        Choose a log
        <input type="file" class="visually-hidden" onChange={({ currentTarget }) => take(currentTarget.files?.[0])} />
      </label>
      <span>or drop it here, plain or gzip</span>
      <button type="button" class="button small" onClick={() => open(sampleLog(), 'sample.log')}>
        Try a sample log
      </button>
      <Choices choices={{ key, format }} onChange={{ key: setKey, format: setFormat }} onDone={openAgain} />
    </div>
  );
}

/** Who is a client, and what the lines look like. */
function Choices(props: {
  readonly choices: { readonly key: string; readonly format: string };
  readonly onChange: { readonly key: (text: string) => void; readonly format: (text: string) => void };
  readonly onDone: () => void;
}): JSX.Element {
  const { choices, onChange, onDone } = props;
  return (
    <>
      <label class="inline-field" title="ip, user, everyone, field:NAME, 'ip + route', 'user | ip'">
        <span>A client is</span>
        <input
          class="input compact"
          name="key"
          list="backtest-keys"
          size={10}
          autocomplete="off"
          spellcheck={false}
          value={choices.key}
          onInput={({ currentTarget }) => onChange.key(currentTarget.value)}
          onChange={onDone}
        />
        <datalist id="backtest-keys">
          {KEYS.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </label>
      <label class="inline-field" title="combined, caddy, haproxy, ... or the log_format of your server">
        <span>Format</span>
        <input
          class="input compact"
          name="format"
          size={16}
          autocomplete="off"
          spellcheck={false}
          placeholder="recognised"
          value={choices.format}
          onInput={({ currentTarget }) => onChange.format(currentTarget.value)}
          onChange={onDone}
        />
      </label>
    </>
  );
}
