/** A sheet over the page, as browsers have it: the rest cannot be reached meanwhile, and Escape closes it. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { IconButton } from './icons.tsx';

export function Dialog(props: {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: by keyboard it is closed with Escape.
    <dialog
      ref={dialog}
      class="dialog panel"
      aria-labelledby="dialog-title"
      onClose={props.onClose}
      onClick={(event) => {
        // On what lies around it, which belongs to it as well.
        if (event.target === dialog.current) dialog.current!.close();
      }}
    >
      <header class="dialog-head">
        <h2 id="dialog-title">{props.title}</h2>
        <IconButton icon="close" label="Close" onClick={() => dialog.current!.close()} />
      </header>
      {props.children}
    </dialog>
  );
}
