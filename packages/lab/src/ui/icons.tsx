/** Small pictures on buttons, as paths in a box of 24. */
import type { JSX } from 'preact';

const PATHS = {
  play: 'M7 4.5v15l12-7.5Z',
  pause: 'M8 5v14M16 5v14',
  step: 'M6 5.5v13l9-6.5ZM18.5 5v14',
  send: 'M4 12h14m-6-6 6 6-6 6',
  close: 'm6 6 12 12M18 6 6 18',
  next: 'm9 5 7 7-7 7',
  replay: 'M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5',
  share: 'M12 15V4m-4 4 4-4 4 4M5 13v6h14v-6',
  reset: 'M5 7h14M9 7V4h6v3m-8 0 1 13h8l1-13',
  settings: 'M4 7h9m5 0h2M4 17h2m5 0h9M13 4.5v5M6 14.5v5',
  help: 'M9.2 9a3 3 0 1 1 4.3 2.7c-1 .5-1.5 1.1-1.5 2.3M12 17.5v.1',
  plus: 'M5 12h14M12 5v14',
  minus: 'M5 12h14',
  sun: 'M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10Zm0-5v2m0 16v2M2 12h2m16 0h2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4m0-14.2-1.4 1.4M6.3 17.7l-1.4 1.4',
  moon: 'M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z',
} as const;

export type IconName = keyof typeof PATHS;

const FILLED: readonly IconName[] = ['play', 'step'];

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} fill={FILLED.includes(name) ? 'currentColor' : 'none'} />
    </svg>
  );
}

/** A button that is only a picture: its name is its label and what hovering shows. */
export function IconButton(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly expanded?: boolean;
  readonly class?: string;
}): JSX.Element {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ''}`}
      aria-label={props.label}
      title={props.label}
      aria-expanded={props.expanded}
      disabled={props.disabled}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}
