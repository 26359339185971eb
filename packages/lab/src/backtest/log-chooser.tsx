/** Where a log comes from: dropped, chosen, or the sample. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { sampleLog } from './sample-log.ts';

export function LogChooser(props: {
  readonly onOpen: (log: Blob, name: string, key: string, format: string) => void;
}): JSX.Element {
  const [key, setKey] = useState('ip');
  const [format, setFormat] = useState('');
  const [isOver, setOver] = useState(false);
  const take = (file: File | null | undefined): void => {
    if (file) props.onOpen(file, file.name, key, format.trim());
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
      <button type="button" class="button small" onClick={() => props.onOpen(sampleLog(), 'sample.log', 'ip', '')}>
        Try a sample log
      </button>
      <label>
        A client is{' '}
        <input
          name="key"
          value={key}
          size={12}
          title="ip, user, everyone, field:NAME, 'ip + route', 'user | ip'"
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      </label>
      <label>
        Format{' '}
        <input
          name="format"
          value={format}
          size={18}
          placeholder="recognised"
          title="combined, caddy, haproxy, ... or the log_format of your server"
          onInput={({ currentTarget }) => setFormat(currentTarget.value)}
        />
      </label>
    </div>
  );
}
