/** What is sent back. Handlers make these; only the server touches a socket. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** A number that is none (a cost that never fits is allowed after Infinity) becomes null, as JSON has it. */
export function json(status: number, value: unknown, headers?: Answer['headers']): Answer {
  return jsonText(status, JSON.stringify(value), headers);
}

/** What is JSON already. */
export function jsonText(status: number, value: string, headers?: Answer['headers']): Answer {
  const all = headers === undefined ? JSON_TYPE : { ...JSON_TYPE, ...headers };
  return { status, headers: all, body: `${value}\n` };
}

/** An answer that is always the same: its bytes are made once, so that a thousand that nobody reads take the memory of one. */
export function constantJson(value: unknown): Answer {
  const answer = json(200, value);
  return { ...answer, body: Buffer.from(answer.body as string) };
}

const JSON_TYPE: Answer['headers'] = { 'Content-Type': 'application/json' };

export function text(status: number, body: string, type = 'text/plain; charset=utf-8'): Answer {
  return { status, headers: { 'Content-Type': type }, body };
}
