/** What a server keeps for those who hold its token. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

export function TokenForm(props: {
  readonly wasWrong: boolean;
  /** What it is asked for. */
  readonly why: string;
  /** What the button says. */
  readonly action: string;
  readonly onToken: (token: string) => void;
}): JSX.Element {
  const [token, setToken] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    props.onToken(token.trim());
  };
  return (
    <form class="panel token-form" onSubmit={submit}>
      <h2>This server asks for its token</h2>
      <p>
        {props.why} The token is the one that <code>sluice serve</code> was started with; it stays in this tab.
      </p>
      <div class="field">
        <label for="token">Token</label>
        <input
          id="token"
          class="input"
          type="password"
          autocomplete="off"
          required
          value={token}
          aria-invalid={props.wasWrong}
          aria-describedby={props.wasWrong ? 'token-problem' : undefined}
          onInput={(event) => setToken(event.currentTarget.value)}
        />
        {props.wasWrong && (
          <small id="token-problem" class="problem" role="alert">
            That is not the token of this server.
          </small>
        )}
      </div>
      <button type="submit" class="button primary">
        {props.action}
      </button>
    </form>
  );
}
