/** Structured logs: one JSON object in a line. Never a key, a token or a body in it. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where the service says what happens. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** A log that writes one line of JSON for each message. */
export function jsonLog(write: (line: string) => void): Log {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      write(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }));
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

export function errorText(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
