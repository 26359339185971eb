/** `sluice explain`: which rules of a file match a request, and why. Asks no store and spends nothing. */
import type { RequestView } from 'sluice/http';
import { explain } from '../config/explain.ts';
import { type Command, parseArguments } from './command.ts';
import { requireConfig } from './config-file.ts';
import { EXIT, UsageError } from './terminal.ts';

export const explainCommand: Command = {
  name: 'explain',
  summary: 'Says which rules of a config match a request, and why.',
  help: `Usage: sluice explain FILE --request 'METHOD /path' [--header NAME:VALUE]... [--ip ADDRESS] [--json]

  --request  the request, such as 'GET /users/42'
  --header   a header of it; may be repeated
  --ip       the address it comes from; 127.0.0.1 by default

Examples:
  sluice explain policies.yaml --request 'POST /login'
  sluice explain policies.yaml --request 'GET /search/shoes' --header x-api-key:abc --header x-plan:pro`,
  async run(args, terminal) {
    const flags = parseArguments(args, {
      request: { type: 'string' },
      header: { type: 'string', multiple: true },
      ip: { type: 'string' },
      json: { type: 'boolean' },
    });
    const [file] = flags.words;
    if (file === undefined || flags.words.length > 1) throw new UsageError('expected one file');
    const view = viewOf(flags.text('request'), flags.texts('header'), flags.text('ip') ?? '127.0.0.1');
    const { config } = await requireConfig(file);
    const { rules, spends, text } = explain(config, view, Date.now());
    terminal.out(flags.has('json') ? JSON.stringify({ rules, spends }, undefined, 2) : text);
    return EXIT.ok;
  },
};

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
