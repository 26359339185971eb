/** Pages by hash, so that the lab needs no server that knows its addresses: `#/`, `#/choose`, `#/backtest`, `#/live`, each with parameters after `?`. */
import { useEffect, useState } from 'preact/hooks';

export type Page = 'lab' | 'choose' | 'backtest' | 'live';

export interface Route {
  readonly page: Page;
  readonly parameters: URLSearchParams;
}

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const page = path === 'choose' || path === 'backtest' || path === 'live' ? path : 'lab';
  return { page, parameters: new URLSearchParams(query) };
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useEffect(() => {
    const follow = (): void => setRoute(readRoute(location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
