/** Pages that most visitors never open come when they are opened, so that the first one is small. */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Loaded<Props> = ComponentType<Props> | 'failed' | undefined;

export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): (props: Props) => JSX.Element {
  let loaded: Loaded<Props>;
  return function Later(props) {
    const [page, setPage] = useState<{ readonly now: Loaded<Props> }>({ now: loaded });
    useEffect(() => {
      if (loaded !== undefined && loaded !== 'failed') return;
      const show = (now: Loaded<Props>): void => {
        loaded = now;
        setPage({ now });
      };
      load().then(show, () => show('failed'));
    }, []);
    if (page.now === undefined) return <p class="later">Loading …</p>;
    if (page.now !== 'failed') return <page.now {...props} />;
    return (
      <p class="later" role="alert">
        This page could not be loaded. Is the server still there? Reload to try again.
      </p>
    );
  };
}
