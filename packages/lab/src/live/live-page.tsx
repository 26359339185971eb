/** The live view: what the server that gave out this page limits right now, and what can be done about it. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { savedToken, saveToken } from '../token/token.ts';
import { TokenForm } from '../token/token-form.tsx';
import { Board } from './board.tsx';
import type { LiveStore } from './live-answer.ts';
import { lasting } from './numbers.ts';
import { type Live, useLive } from './use-live.ts';

export function LivePage(): JSX.Element {
  const [token, setToken] = useState(savedToken);
  const live = useLive(token);
  const tryToken = (given: string): void => {
    saveToken(given);
    setToken(given);
  };
  return (
    <div class="live">
      <header class="live-head">
        <div>
          <h1>Live</h1>
          <p class="lede">What this server limits right now.</p>
        </div>
        <div class="lights">
          <ServerLight live={live} />
          {live.answer !== undefined && live.state === 'here' && (
            <StoreLight store={live.answer.store} at={live.answer.at} />
          )}
        </div>
      </header>
      {live.state === 'locked' ? (
        <TokenForm
          key={token}
          wasWrong={token !== ''}
          why="The live view shows keys, so it needs the token of the server."
          action="Show"
          onToken={tryToken}
        />
      ) : (
        live.answer !== undefined && <Board live={live} answer={live.answer} token={token} onToken={tryToken} />
      )}
      {live.state === 'away' && live.answer === undefined && (
        <p class="none">
          No Sluice server gave out this page. Start one with: npx --package=@sluice/server sluice serve
        </p>
      )}
    </div>
  );
}

function ServerLight({ live }: { readonly live: Live }): JSX.Element {
  return (
    <p class={`light ${live.state === 'here' ? 'up' : live.state === 'away' ? 'down' : ''}`} role="status">
      <span aria-hidden="true" />
      {serverText(live)}
    </p>
  );
}

function serverText({ state, awaySince }: Live): string {
  if (state === 'waiting') return 'Asking the server';
  if (state === 'locked') return 'Locked';
  if (state === 'here') return 'Server: updated every second';
  return `Server: no answer for ${lasting((performance.now() - (awaySince ?? 0)) / 1000)}, trying again`;
}

function StoreLight({ store, at }: { readonly store: LiveStore; readonly at: number }): JSX.Element {
  const since = lasting(at - store.since);
  return (
    <p class={`light ${store.state}`} role="status" data-store={store.state}>
      <span aria-hidden="true" />
      {store.state === 'up'
        ? `Store: up for ${since}, ${store.description}`
        : `Store: down for ${since}; the fallback answers`}
    </p>
  );
}
