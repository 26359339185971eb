/** docs/service.md cannot go stale: every command in its `sh` blocks is run, in order, and says what the page says it does. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServingProcess, serve } from './processes.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/service.md'), 'utf8');
const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!);

let server: ServingProcess;
beforeAll(async () => {
  await promisify(execFile)('curl', ['--version']).catch(() => {
    throw new Error('The examples of docs/service.md need curl: apt-get install curl');
  });
  server = await serve(['--config', join(root, 'packages/server/examples/policies.yaml')]);
});
afterAll(() => server?.stop());

/** Commands, each with the line of comment that says what comes out. */
const examples = blocks.flatMap((block) =>
  block
    .trim()
    .split('\n\n')
    .map((part) => {
      const lines = part.split('\n');
      const expected = lines.filter((line) => line.startsWith('# ')).map((line) => line.slice(2));
      return { command: lines.filter((line) => !line.startsWith('# ')).join('\n'), expected: expected.join('\n') };
    }),
);

test('there are examples, each with what comes out', () => {
  expect(examples.length).toBeGreaterThan(15);
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

/** Dots stand for what is left out. */
function expectInOrder(text: string, pieces: readonly string[]): void {
  let rest = text;
  for (const piece of pieces) {
    expect(rest).toContain(piece);
    rest = rest.slice(rest.indexOf(piece) + piece.length);
  }
}

test('links to pages that exist', () => {
  const base = new URL('../../../docs/service.md', import.meta.url);
  for (const [, link] of page.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
    expect(() => readFileSync(new URL(link!, base)), link).not.toThrow();
  }
});
