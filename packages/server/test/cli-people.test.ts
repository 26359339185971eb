/** The command as people meet it in a terminal: colours, questions, a config to begin with. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wantsColors } from '../src/cli/paint.ts';
import { binary } from './processes.ts';
import { run } from './run.ts';
import { type RunningService, startService } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-people-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Without what the one who runs the tests likes. */
const { NO_COLOR: _no, FORCE_COLOR: _force, ...OTHERS } = process.env;
const ENVIRONMENT = { ...OTHERS, TERM: 'xterm' };

/** In a terminal, as `script` makes one. Typed is what a person types at each question. */
function inTerminal(args: readonly string[], environment: Record<string, string> = {}, typed: readonly string[] = []) {
  const command = [process.execPath, binary, ...args].map((word) => `'${word}'`).join(' ');
  return new Promise<{ code: number | null; out: string }>((resolve) => {
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      cwd: folder,
      env: { ...ENVIRONMENT, ...environment },
    });
    let [out, asked] = ['', 0];
    child.stdout.on('data', (chunk) => {
      out += chunk;
      // Each question ends so.
      for (const questions = out.split('] ').length - 1; asked < questions && asked < typed.length; asked++) {
        child.stdin.write(`${typed[asked]}\n`);
      }
    });
    child.on('close', (code) => resolve({ code, out: out.replaceAll('\r\n', '\n') }));
  });
}

function inPipe(args: readonly string[], environment: Record<string, string> = {}) {
  return new Promise<{ code: number; out: string; error: string }>((resolve) => {
    const env = { ...ENVIRONMENT, ...environment };
    const child = execFile(process.execPath, [binary, ...args], { cwd: folder, env }, (failure, out, error) =>
      resolve({ code: failure === null ? 0 : Number(failure.code), out, error }),
    );
    child.stdin?.end();
  });
}

const [GREEN, RED, PLAIN] = ['\u001b[32m', '\u001b[31m', '\u001b[39m'];

describe('colours', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startService();
    writeFileSync(
      join(folder, 'bad.yaml'),
      'policies:\n  api: { algorithm: token-bucket, capacity: 0, refillRate: 1 }\n',
    );
  });
  afterAll(() => service?.stop());

  test('on a terminal: yes is green, no is red, errors and marks are red', async () => {
    const attempt = ['attempt', 'ann', '--policy', 'daily', '--cost', '15', '--server', service.url];
    expect(await inTerminal(attempt)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`${GREEN}allowed${PLAIN}: 5 of 20 left`),
    });
    expect(await inTerminal(attempt)).toMatchObject({
      code: 1,
      out: expect.stringContaining(`${RED}denied${PLAIN}: 5 of 20`),
    });
    const check = await inTerminal(['check', 'bad.yaml']);
    expect(check.out).toContain(`${RED}^${PLAIN}`);
    expect(check.out).toContain(`${RED}1 problem in 1 file${PLAIN}`);
    expect((await inTerminal(['check', '--nope'])).out).toContain(
      `${RED}sluice check:${PLAIN} Unknown option '--nope'`,
    );
  });

  test('not in a pipe, not with NO_COLOR; with FORCE_COLOR everywhere, but never in JSON', async () => {
    const args = ['check', 'bad.yaml'];
    const outputs = await Promise.all([
      inPipe(args),
      inTerminal(args, { NO_COLOR: '1' }),
      inPipe([...args, '--json'], { FORCE_COLOR: '1' }),
      inPipe(args, { FORCE_COLOR: '1' }),
    ]);
    expect(outputs.map(({ out }) => out.includes('\u001b'))).toEqual([false, false, false, true]);
  });

  test.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: 'false' }, true, false],
  ])('%j on a terminal (%s): %s', (environment, isTerminal, expected) => {
    expect(wantsColors(environment, isTerminal)).toBe(expected);
  });
});

describe('init', () => {
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

  test('in a pipe it asks nothing: a file with comments that the server takes', async () => {
    const { code, out } = await inPipe(['init']);
    expect([code, out]).toEqual([
      0,
      'done: policies.yaml limits each client to 100 in 1m.\nLook at it, then: sluice serve --config policies.yaml\n',
    ]);
    expect(read('policies.yaml')).toMatch(/^# Limits for:/);
    expect(await run(['check', join(folder, 'policies.yaml')])).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 policies, 3 rules'),
    });
    const explained = await run(['explain', join(folder, 'policies.yaml'), '--request', 'POST /login']);
    expect(explained.out).toContain('Limited by login, api');
  });

  test('what is commented out is right too', async () => {
    const file = join(folder, 'all.yaml');
    const options = /^( *)# (plans:|shadow:| {2}pro:)/gm;
    expect(read('policies.yaml').match(options)).toHaveLength(3);
    writeFileSync(file, read('policies.yaml').replace(options, '$1$2'));
    expect(await run(['check', file])).toMatchObject({ code: 0 });
  });

  test('what is there is not overwritten', async () => {
    writeFileSync(join(folder, 'mine.yaml'), 'mine');
    const { code, error } = await inPipe(['init', 'mine.yaml']);
    expect([code, error]).toEqual([2, expect.stringContaining('mine.yaml exists and is not overwritten')]);
    expect(read('mine.yaml')).toBe('mine');
  });

  test('on a terminal it asks, and an empty answer is the default', async () => {
    const { code, out } = await inTerminal(['init', 'asked.yaml'], {}, ['20', '1s', 'header:x-api-key | ip', '']);
    expect([code, out]).toEqual([0, expect.stringContaining('How many requests may one client send? [100] ')]);
    expect(out).toContain(`${GREEN}done:${PLAIN} asked.yaml limits each client to 20 in 1s.`);
    expect(read('asked.yaml')).toMatch(/limit: 20\n {4}window: 1s\n[\s\S]*key: "header:x-api-key \| ip"\n/);
    expect(read('asked.yaml')).toContain('trustedProxies: 0\n');
    expect(await run(['check', join(folder, 'asked.yaml')])).toMatchObject({ code: 0 });
  });

  test('flags and --yes answer for a person', async () => {
    expect(await inTerminal(['init', 'flags.yaml', '--limit', '7', '--proxies', '2', '--yes'])).toMatchObject({
      code: 0,
      out: expect.not.stringContaining('?'),
    });
    expect(read('flags.yaml')).toMatch(/trustedProxies: 2[\s\S]*limit: 7/);
  });

  test.each([
    [['--limit', '0'], '--limit: expected a number from 1'],
    [['--window', 'soon'], 'policies.api.window: expected'],
    [['--key', 'nobody'], 'rules[2].key: '],
    [['two.yaml'], 'unexpected "two.yaml"'],
  ])('%j is wrong usage, and nothing is written', async (args, message) => {
    const { code, error } = await run(['init', join(folder, 'wrong.yaml'), ...args]);
    expect([code, error]).toEqual([2, expect.stringContaining(message)]);
    expect(() => read('wrong.yaml')).toThrow('ENOENT');
  });
});
