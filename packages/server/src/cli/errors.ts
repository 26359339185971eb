/** `sluice errors`: the pages about the library's error codes, as they come with the package `sluice`. */
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Command } from './command.ts';
import { didYouMean } from './did-you-mean.ts';
import { EXIT, UsageError } from './terminal.ts';

export const errorsCommand: Command = {
  name: 'errors',
  summary: 'Lists the error codes, or prints the page of one: cause and cure.',
  help: `Usage: sluice errors [CODE] [--json]

  CODE    such as SLUICE_TIMEOUT, or only TIMEOUT; without it, lists all codes
  --json  the list, or the page, as JSON

Examples:
  sluice errors
  sluice errors SLUICE_TIMEOUT
  sluice errors no_history`,
  flags: { json: { type: 'boolean' } },
  async run(flags, terminal) {
    const [code, ...more] = flags.words;
    if (more.length > 0) throw new UsageError('expected one code');
    const codes = await readCodes();
    if (code === undefined) {
      terminal.out(flags.has('json') ? JSON.stringify(codes, undefined, 2) : listText(codes));
      return EXIT.ok;
    }
    const found = findCode(code, codes);
    const page = await readFile(join(folder(), `${found}.md`), 'utf8');
    terminal.out(flags.has('json') ? JSON.stringify({ code: found, page }) : page.trimEnd());
    return EXIT.ok;
  },
};

interface Code {
  readonly code: string;
  readonly summary: string;
}

/** Those of the library that this command works with. */
function folder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('sluice/package.json')), 'docs', 'errors');
}

/** In the order of the list that stands beside the pages. */
async function readCodes(): Promise<readonly Code[]> {
  const pages = await readdir(folder()).catch((error: Error) => {
    throw new Error(`the pages are missing: ${error.message}. In a clone, npm run build makes them.`);
  });
  const list = await readFile(join(folder(), 'README.md'), 'utf8');
  const rows = [...list.matchAll(/^\| \[(SLUICE_\w+)\]\([^)]*\) \| (.*) \|$/gm)];
  return rows.flatMap(([, code, summary]) =>
    pages.includes(`${code}.md`) ? [{ code: code!, summary: summary! }] : [],
  );
}

function listText(codes: readonly Code[]): string {
  const width = Math.max(...codes.map(({ code }) => code.length));
  return codes.map(({ code, summary }) => `${code.padEnd(width)}  ${summary}`).join('\n');
}

function findCode(text: string, codes: readonly Code[]): string {
  const wanted = text.toUpperCase().replace(/^(?!SLUICE_)/, 'SLUICE_');
  const names = codes.map(({ code }) => code);
  if (names.includes(wanted)) return wanted;
  throw new UsageError(
    `there is no code ${JSON.stringify(text)}.${didYouMean(wanted, names)} sluice errors lists them.`,
  );
}
