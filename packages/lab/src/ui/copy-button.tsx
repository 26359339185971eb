/** Copies a text and says so. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

const SAID_FOR = 1_600;

export function CopyButton(props: {
  /** A function where it is only known when it is wanted. */
  readonly text: string | (() => string);
  readonly label: string;
}): JSX.Element {
  const { text, label } = props;
  const [said, setSaid] = useState<string>();
  const say = (words: string): void => {
    setSaid(words);
    setTimeout(() => setSaid(undefined), SAID_FOR);
  };
  return (
    <button
      type="button"
      class="button small"
      aria-live="polite"
      onClick={() =>
        void copy(typeof text === 'string' ? text : text()).then((copied) => say(copied ? 'Copied' : 'Press Ctrl+C'))
      }
    >
      {said ?? label}
    </button>
  );
}

/** Pages that are not on https or localhost have no clipboard; there the old way works. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.body.appendChild(document.createElement('textarea'));
    area.value = text;
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    return copied;
  }
}
