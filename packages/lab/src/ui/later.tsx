/** Parts of the lab that most visitors never open come when they are opened, so that the first page is small. */
import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

type Loaded<Props> = ComponentType<Props> | 'failed' | undefined;

/** `meanwhile` is shown until it is there. */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  meanwhile: JSX.Element | null = <p class="later">Loading …</p>,
): (props: Props) => JSX.Element | null {
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
    if (page.now === undefined) return meanwhile;
    if (page.now !== 'failed') return <page.now {...props} />;
    return (
      <p class="later" role="alert">
        This part of the page could not be loaded. Is the server still there? Reload to try again.
      </p>
    );
  };
}
