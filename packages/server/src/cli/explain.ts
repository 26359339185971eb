/** `sluice explain`: which rules of a file match a request, and why. Asks no store and spends nothing. */
import type { RequestView } from 'sluice/http';
import type { Config } from '../config/config.ts';
import { type Explanation, explain } from '../config/explain.ts';
import { UnreadablePath } from '../config/request-paths.ts';
import { explainDescriptors } from '../envoy/explain.ts';
import type { Descriptor } from '../envoy/request.ts';
import { loadConfig } from '../service/load-config.ts';
import type { Arguments, Command } from './command.ts';
import { painter } from './paint.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';

export const explainCommand: Command = {
  name: 'explain',
  summary: 'Shows which rules of a config match a request, and why.',
  help: `Usage: sluice explain PATH... --request 'METHOD /path' [--header NAME:VALUE]... [--ip ADDRESS] [--json]
       sluice explain PATH... --domain NAME --descriptor KEY=VALUE,...

  PATH           a file or folder of the config; several form one config
  --request      the request, such as 'GET /users/42'
  --header       a header of the request; may be repeated
  --ip           the address it comes from; 127.0.0.1 by default
  --json         the answer as JSON
  --domain       the domain, for a config file of Envoy
  --descriptor   what Envoy asks about; may be repeated

Examples:
  sluice explain policies.yaml --request 'POST /login'
  sluice explain policies.yaml --request 'GET /search/shoes' --header x-api-key:abc --header x-plan:pro
  sluice explain ratelimit.yaml --domain shop --descriptor path=/login,remote_address=10.0.0.1
  sluice explain policies.yaml rules/ --request 'GET /' --header "authorization: Bearer $TOKEN" --json`,
  words: 'files',
  flags: {
    request: { type: 'string' },
    header: { type: 'string', multiple: true },
    ip: { type: 'string' },
    json: { type: 'boolean' },
    domain: { type: 'string' },
    descriptor: { type: 'string', multiple: true },
  },
  async run(flags, terminal) {
    if (flags.words.length === 0) throw new UsageError('which file?');
    if (flags.text('domain') !== undefined) return explainEnvoy(flags, terminal);
    const view = viewOf(flags.text('request'), flags.texts('header'), flags.text('ip') ?? '127.0.0.1');
    const { config } = await loadConfig(flags.words, terminal.environment);
    const { rules, spends, text } = explained(config, view);
    terminal.out(flags.has('json') ? JSON.stringify({ rules, spends }, undefined, 2) : painted(text, terminal));
    return EXIT.ok;
  },
};

function painted(text: string, { colors }: Terminal): string {
  const { good, dim } = painter(colors?.out);
  return text.replace(/^ {2}yes(?= )/gm, good).replace(/^ {2}no(?= )/gm, dim);
}

/** A server would refuse such a path. */
function explained(config: Config, view: RequestView): Explanation {
  try {
    return explain(config, view, Date.now());
  } catch (error) {
    throw error instanceof UnreadablePath ? new UsageError(`--request: ${error.message}`) : error;
  }
}

async function explainEnvoy(flags: Arguments, terminal: Terminal): Promise<number> {
  const descriptors = flags.texts('descriptor').map(descriptorOf);
  if (descriptors.length === 0) throw new UsageError('expected --descriptor KEY=VALUE,...');
  const { config } = await loadConfig(flags.words, terminal.environment);
  const { text, ...explained } = explainDescriptors(config.envoy ?? new Map(), flags.text('domain')!, descriptors);
  terminal.out(flags.has('json') ? JSON.stringify(explained, undefined, 2) : text);
  return EXIT.ok;
}

function descriptorOf(text: string): Descriptor {
  const entries = text.split(',').map((entry) => {
    const mark = entry.indexOf('=');
    if (mark < 1) throw new UsageError(`expected --descriptor KEY=VALUE,..., got ${JSON.stringify(text)}`);
    return { key: entry.slice(0, mark), value: entry.slice(mark + 1) };
  });
  return { entries };
}

function viewOf(request: string | undefined, headerTexts: readonly string[], ip: string): RequestView {
  const [, method, path] = /^\s*([A-Za-z-]+)\s+(\S+)\s*$/.exec(request ?? '') ?? [];
  if (method === undefined || path === undefined) throw new UsageError("expected --request 'METHOD /path'");
  const headers = new Map(headerTexts.map(headerOf));
  return { method: method.toUpperCase(), path, ip, header: (name) => headers.get(name.toLowerCase()) };
}

function headerOf(text: string): readonly [name: string, value: string] {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError(`expected --header NAME:VALUE, got ${JSON.stringify(text)}`);
  return [text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim()];
}
