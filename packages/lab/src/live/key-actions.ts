/** What can be done about one key: look at what is left, reset, block, unblock, exempt it for a while, and write the lines that exempt it for longer. */
import { authorization } from '../token/token.ts';

export interface Subject {
  readonly policy: string;
  readonly key: string;
}

/** What a look says of a key. */
export interface Looked {
  readonly allowed: boolean;
  /** Null when the key is exempt. */
  readonly limit: number | null;
  readonly remaining: number | null;
  /** Seconds. */
  readonly retryAfter: number | null;
  readonly resetAfter: number;
}

export type Verb = 'peek' | 'reset' | 'block' | 'unblock' | 'exempt';

/** `locked`: it needs the token. */
export type Done = { readonly answer: Looked } | { readonly problem: string } | 'locked';

export async function askServer(verb: Verb, subject: Subject, token: string, more: object = {}): Promise<Done> {
  // An exemption is of the key, under all policies.
  const isExemption = verb === 'exempt';
  const body = isExemption ? { kind: 'exempt', key: subject.key, ...more } : { ...subject, ...more };
  try {
    const response = await fetch(`v1/${isExemption ? 'exceptions' : verb}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...authorization(token) },
      body: JSON.stringify(body),
    });
    if (response.status === 401) return 'locked';
    const answer = (await response.json()) as Looked & { readonly message?: string };
    return response.ok
      ? { answer }
      : { problem: answer.message ?? `The server answered with status ${response.status}.` };
  } catch {
    return { problem: 'The server does not answer.' };
  }
}

/** Lines for the config: a limit that nobody reaches, until a day. The server reads its config again when it changes, and so do all others. */
export function exemptionYaml({ policy, key }: Subject, limits: object | null, today: Date): string {
  const until = new Date(today.getTime() + 7 * 86_400_000).toISOString().slice(0, 10);
  const field = limits !== null && 'capacity' in limits ? 'capacity' : 'limit';
  return [
    'overrides:',
    `  - key: ${JSON.stringify(key)}`,
    `    policy: ${policy}`,
    `    limits: { ${field}: 10000000 }`,
    `    until: ${until}`,
    '    reason: exempt for a week',
    '',
  ].join('\n');
}
