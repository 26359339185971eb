/** `sluice top`: what it draws in windows of any size, and that the terminal is as before when it has ended. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { topLine, topLines } from '../src/cli/top-text.ts';
import type { LiveAnswer } from '../src/service/live-view.ts';
import { binary, eventually } from './processes.ts';
import { run } from './run.ts';
import { type RunningService, startService } from './support.ts';

const keys = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ policy: 'api', key: `key ${index}`, count: count - index, error: 0 }));
const rates = (allowed: number, denied: number) => ({
  ...{ allowed, denied },
  allowedPerSecond: allowed / 10,
  deniedPerSecond: denied / 10,
  deniedShare: allowed + denied === 0 ? 0 : denied / (allowed + denied),
});
const policy = (name: string, allowed: number, denied: number, wouldDeny?: number) => ({
  ...{ name, shadow: wouldDeny !== undefined, limits: null, deniedByOthers: 0 },
  ...rates(allowed, denied),
  wouldDeny: wouldDeny ?? 0,
  wouldDenyPerSecond: (wouldDeny ?? 0) / 10,
  wouldDenyShare: (wouldDeny ?? 0) / (allowed || 1),
});
const VIEW: LiveAnswer = {
  at: Date.parse('2026-11-16T14:03:22Z') / 1e3,
  seconds: 10,
  requests: rates(305, 100),
  policies: [policy('idle', 0, 0), policy('api', 300, 100), policy('trial', 15, 0, 10)],
  store: { p50Ms: 0.2145, p99Ms: 12.3, fallbackShare: 0.015, state: 'up', since: 0, description: 'test' },
  top: {
    denied: [{ policy: 'api', key: 'eve\x1b[2J\nann', count: 90, error: 4 }],
    busiest: keys(100),
    wouldDeny: [],
  },
  history: [],
};
const ESCAPE = '\x1b';
const url = 'http://127.0.0.1:8080';

describe('a window', () => {
  test('of the usual size', () => {
    const lines = topLines({ url, view: VIEW }, { columns: 80, rows: 24 });
    expect(lines.slice(0, 12)).toEqual([
      'sluice top   http://127.0.0.1:8080   the last 10.0 s   14:03:22',
      'store   p50 0.21 ms   p99 12 ms   answered by a fallback 1.5 %',
      '',
      'POLICY                      ALLOWED/S  DENIED/S  DENIED',
      'api                              30.0      10.0  25.0 %',
      'trial (shadow: would deny)        1.5       1.0  66.7 %',
      'idle                              0.0       0.0   0.0 %',
      '',
      'MOST DENIED  POLICY  KEY',
      '        ~90  api     eve\\x1b[2J\\x0aann',
      '',
      'BUSIEST  POLICY  KEY',
    ]);
    expect(lines[12]).toBe('    100  api     key 0');
    expect(lines.length).toBeLessThanOrEqual(24);
  });

  test.each([
    [200, 60],
    [80, 24],
    [40, 12],
    [20, 5],
    [1, 1],
  ])('of %i columns and %i rows is never overrun', (columns, rows) => {
    const lines = topLines({ url, view: VIEW, problem: 'it does not answer' }, { columns, rows });
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
    expect(lines.join('')).not.toMatch(/\p{Cc}/u);
  });

  test('says what is wrong instead of how old the numbers are', () => {
    expect(topLines({ url, view: VIEW, problem: 'does not answer' }, { columns: 80, rows: 24 })[0]).toContain(
      'does not answer',
    );
  });
});

test('says that numbers of workers are missing', () => {
  const view = { ...VIEW, workers: { count: 4, silent: [2, 3] } };
  const words = 'without 2 of 4 workers, which did not answer';
  expect(topLines({ url, view }, { columns: 200, rows: 24 })[1]).toContain(words);
  expect(topLine(view)).toContain(words);
  expect(topLine({ ...VIEW, workers: { count: 4, silent: [] } })).toBe(topLine(VIEW));
});

test('a line for logs and pipes', () => {
  expect(topLine(VIEW)).toBe(
    '14:03:22  allowed 30.5/s  denied 10.0/s (24.7 %)  p50 0.21 ms  p99 12 ms  fallback 1.5 %  most denied eve\\x1b[2J\\x0aann (api, 90)',
  );
});

describe('against a server', () => {
  let running: RunningService;
  beforeAll(async () => {
    running = await startService({ token: 'secret' });
    for (let time = 0; time < 4; time++) await running.post('/v1/attempt', { policy: 'api', key: 'ann', cost: 4 });
  });
  afterAll(() => running.stop());
  const by = () => ['--server', running.url, '--token', 'secret', '--seconds', '60'];

  test('once, in words and as JSON', async () => {
    const { code, out } = await run(['top', '--once', ...by()]);
    expect([code, out]).toEqual([0, expect.stringMatching(/^api +[\d.]+ +[\d.]+ +50\.0 %$/m)]);
    expect(out).toMatch(/^ +2 +api +ann$/m);
    const { top } = JSON.parse((await run(['top', '--once', '--json', ...by()])).out);
    expect(top.denied).toEqual([{ policy: 'api', key: 'ann', count: 2, error: 0 }]);
  });

  test('keys are for those who have the token', async () => {
    const { code, error } = await run(['top', '--once', '--server', running.url]);
    expect([code, error]).toEqual([3, expect.stringContaining('answered 401')]);
  });

  test('in a terminal: drawn again and again, and as before after Ctrl-C', async () => {
    // script(1) is a terminal for whatever it runs, and types what it is given.
    // `exec`, because Ctrl-C goes to the shell too, and some shells die of it before they can say how we ended.
    const command = `exec '${process.execPath}' '${binary}' top ${by().join(' ')}`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
    let seen = '';
    const drawn = new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk) => {
        seen += chunk;
        if (seen.split('sluice top').length > 2) resolve();
      });
    });
    const ended = once(child, 'close');
    await Promise.race([drawn, ended]);
    child.stdin.write('\x03');
    const [code] = await ended;
    expect(seen.startsWith(`${ESCAPE}[?1049h${ESCAPE}[?25l${ESCAPE}[?7l${ESCAPE}[Hsluice top `)).toBe(true);
    expect(seen).toContain(`ann${ESCAPE}[K`);
    expect([code, seen.slice(-19)]).toEqual([0, `${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`]);
  });

  test('a window that changes its size is drawn anew at once', async () => {
    let written = '';
    let resized = (): void => {};
    const screen = {
      columns: 80,
      rows: 24,
      write: (text: string) => {
        written += text;
      },
      onResize(listener: () => void) {
        resized = listener;
        return () => {
          resized = () => {};
        };
      },
    };
    const ended = run(['top', '--every', '3600', ...by()], {}, screen);
    await eventually(
      async () => written,
      (text) => text.includes('BUSIEST'),
    );
    written = '';
    Object.assign(screen, { columns: 30, rows: 4 });
    resized();
    const lines = written.split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[0]).toMatch(/sluice top .{0,18}…/);
    process.emit('SIGTERM');
    expect((await ended).code).toBe(0);
    expect(written.endsWith(`${ESCAPE}[?7h${ESCAPE}[?25h${ESCAPE}[?1049l`)).toBe(true);
  });

  test('in a pipe: a line each time', async () => {
    const child = spawn(process.execPath, [binary, 'top', ...by()], { stdio: ['ignore', 'pipe', 'inherit'] });
    let seen = '';
    await new Promise<void>((resolve) => {
      child.stdout.on('data', (chunk) => {
        seen += chunk;
        if (seen.split('\n').length > 2) resolve();
      });
      child.on('close', resolve);
    });
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(seen.split('\n')[0]).toMatch(
      /^\d\d:\d\d:\d\d {2}allowed [\d.]+\/s {2}denied [\d.]+\/s \(50\.0 %\) .* most denied ann \(api, 2\)$/,
    );
  });
});
