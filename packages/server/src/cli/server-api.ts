/** Asks a server over HTTP, and turns whatever is not its answer into an error that says what happened. */
import { isFields } from '../files/fields.ts';
import type { Arguments } from './command.ts';
import { OverError, UsageError } from './terminal.ts';

export const SERVER_FLAGS = {
  server: { type: 'string', variable: 'SLUICE_SERVER' },
  token: { type: 'string', variable: 'SLUICE_TOKEN' },
} as const;

export const SERVER_HELP = `  --server URL     the server to ask; http://127.0.0.1:8080 by default (SLUICE_SERVER)
  --token SECRET   its bearer token (SLUICE_TOKEN)`;

export interface ServerApi {
  readonly url: string;
  /** With a body it is a POST. */
  ask(path: string, body?: object, method?: 'DELETE'): Promise<Record<string, unknown>>;
}

const TIMEOUT_MS = 5000;

function notAnswering(url: string, error: Error): string {
  const cause = error.cause as (Error & { code?: string }) | undefined;
  const { hostname, port } = new URL(url);
  if (cause?.message === 'bad port') {
    return `${url}: port ${port} belongs to another protocol, so HTTP clients block it. Let the server listen on another port.`;
  }
  if (cause?.code === 'ECONNREFUSED') return `${url} does not answer: nothing listens there. Is sluice serve running?`;
  if (cause?.code === 'ENOTFOUND') return `${url} does not answer: the host name ${hostname} is not known.`;
  if (error.name === 'TimeoutError') return `${url} does not answer within ${TIMEOUT_MS / 1e3} s.`;
  return `${url} does not answer: ${cause?.message || error.message}`;
}

export function serverApi(flags: Arguments): ServerApi {
  const url = flags.text('server') ?? 'http://127.0.0.1:8080';
  if (!/^https?:/i.test(url) || !URL.canParse(url)) {
    throw new UsageError(`--server: expected a URL such as http://127.0.0.1:8080, got ${JSON.stringify(url)}`);
  }
  const token = flags.text('token');
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return {
    url,
    async ask(path, body, method) {
      // Below the path of the URL, which a gateway in front may want.
      const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
        headers: authorization,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined
          ? { method: method ?? 'GET' }
          : {
              method: 'POST',
              body: JSON.stringify(body),
              headers: { ...authorization, 'Content-Type': 'application/json' },
            }),
      }).catch((error: Error) => {
        throw new Error(notAnswering(url, error));
      });
      const answer: unknown = await response.json().catch(() => undefined);
      if (!isFields(answer)) throw new Error(`${url} answered ${response.status} with no JSON: is it a Sluice server?`);
      if (response.ok) return answer;
      const message = `${url} answered ${response.status}: ${answer.message ?? answer.error}`;
      if (response.status === 409) throw new OverError(String(answer.message));
      throw response.status === 400 || answer.error === 'unknown_hold' ? new UsageError(message) : new Error(message);
    },
  };
}
