/** The pages about the service cannot go stale: every command in their `sh` blocks is run, in order, and says what the page says it does. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ServingProcess, serve } from './processes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Each page, and how the server is started that it speaks of. */
const PAGES = [
  ['docs/service.md', 15, ['--config', 'packages/server/examples/policies.yaml']],
  ['docs/envoy.md', 7, ['--config', 'examples/gateways/envoy/ratelimit.yaml', '--grpc-port', '0']],
  ['docs/lab.md', 4, []],
  ['docs/backtest.md', 3, []],
  ['docs/operate/metrics.md', 0, ['--config', 'packages/server/examples/policies.yaml']],
  ['docs/start/not-typescript.md', 2, ['--config', 'packages/server/examples/policies.yaml']],
] as const;

describe.each(PAGES)('%s', (name, leastExamples, args) => {
  const page = readFileSync(join(root, name), 'utf8');
  const examples = examplesIn(page);
  let server: ServingProcess;
  beforeAll(async () => {
    await promisify(execFile)('curl', ['--version']).catch(() => {
      throw new Error(`The examples of ${name} need curl: apt-get install curl`);
    });
    server = await serve(args.map((arg) => (arg.endsWith('.yaml') ? join(root, arg) : arg)));
  });
  afterAll(() => server?.stop());

  test('there are examples, each with what comes out', () => {
    expect(examples.length).toBeGreaterThan(leastExamples);
    for (const { command, expected } of examples) expect(expected, command).not.toBe('');
  });

  test.each(examples)('$command', async ({ command, expected }) => {
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', command.replaceAll('localhost:8080', new URL(server.url).host)],
      {
        cwd: root,
        env: {
          ...process.env,
          PATH: `${join(root, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
          SLUICE_SERVER: server.url,
        },
      },
    );
    expectInOrder(stdout, expected.split(/ ?\.\.\. ?/).filter(Boolean));
  });

  test('links to pages that exist', () => {
    for (const [, link] of page.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      expect(existsSync(join(root, dirname(name), link!)), link).toBe(true);
    }
  });
});

/** Commands, each with the line of comment that says what comes out. */
function examplesIn(page: string): { readonly command: string; readonly expected: string }[] {
  const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!);
  return blocks.flatMap((block) =>
    block
      .trim()
      .split('\n\n')
      .map((part) => {
        const lines = part.split('\n');
        const expected = lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2));
        return { command: lines.filter((line) => !line.startsWith('# ')).join('\n'), expected: expected.join('\n') };
      }),
  );
}

/** Dots stand for what is left out. */
function expectInOrder(text: string, pieces: readonly string[]): void {
  let rest = text;
  for (const piece of pieces) {
    expect(rest).toContain(piece);
    rest = rest.slice(rest.indexOf(piece) + piece.length);
  }
}
