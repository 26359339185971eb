/**
 * Every block of the README and of the documentation that uses Redis, each in a process of its own, while Redis is killed and comes back: the process
 * lives, answers, and warns once each way.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type RunningServer, randomPort, startServer } from '../../../../tools/servers/index.ts';
import { type Block, blockFolder, blocksOf, type Folder, PAGES } from '../support/doc-blocks.ts';

const HARNESS = fileURLToPath(new URL('../support/in-outage.mjs', import.meta.url));

/** Blocks over a bare store, which rejects when Redis is away, and blocks that only look at the server. */
const hasFallback = ({ code }: Block): boolean => /\b(redisStore|layered)\(/.test(code);
const blocks = PAGES.flatMap(blocksOf).filter(({ code }) => code.includes('REDIS_URL'));

let server: RunningServer;
let folder: Folder;
const programs = new Map<Block, Program>();
/** The README's server as it stands there. */
let site: Program;
const port = randomPort();

interface Program {
  readonly child: ChildProcess;
  readonly stderr: () => string;
  /** Who answered: before, during and after. */
  readonly seen: { before: unknown; during: unknown[]; after: unknown };
}

function watch(child: ChildProcess): Program {
  let text = '';
  child.stderr!.on('data', (piece) => (text += String(piece)));
  return { child, stderr: () => text, seen: { before: undefined, during: [], after: undefined } };
}

/** The block, whose client stays open, with stores that are remembered. */
function withKeptStores(code: string): string {
  return code
    .replace(/^(for \(const client of clients\) )?(await )?client\.(close|disconnect|quit|destroy)\(\);$/gm, '')
    .replace(/import \{ (.*?)\bredisStore\b(.*?) \} from ('sluice\/[\w-]+')/, (_, before, after, module) => {
      return `import { ${before}redisStore as made${after} } from ${module};\nconst redisStore = globalThis.kept.redisStore(made)`;
    })
    .replace(/import \{ (.*?)\blayered\b,? ?(.*?) \} from 'sluice\/layers'/, (_, before, after) => {
      return `import { ${before}${after} } from 'sluice/layers';\nconst { layered } = globalThis.kept`;
    });
}

async function start(block: Block, env: NodeJS.ProcessEnv): Promise<void> {
  const file = await folder.write(block, withKeptStores(block.code));
  const child = fork(HARNESS, [file.href], { env, execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  const program = watch(child);
  programs.set(block, program);
  const [first] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
  if (first !== 'ready') throw new Error(`${block.page}: ${block.title} ended: ${program.stderr()}`);
}

const until = (isSo: () => Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: 60_000, interval: 100 });

async function ask({ child, stderr }: Program): Promise<unknown> {
  const answer = once(child, 'message');
  const end = once(child, 'exit').then(() => Promise.reject(new Error(`The process ended: ${stderr()}`)));
  child.send('ask');
  return (await Promise.race([answer, end]))[0];
}

const fetchStatus = async (): Promise<unknown> =>
  fetch(`http://127.0.0.1:${port}/`).then(
    ({ status }) => status,
    (error: Error) => error.message,
  );

const isStore = (sources: unknown): boolean => (sources as string[]).every((source) => source === 'store');

beforeAll(async () => {
  server = await startServer({ kind: 'redis' });
  folder = blockFolder('outage-blocks');
  const env = { ...process.env, REDIS_URL: server.url, npm_package_name: 'docs' };
  await Promise.all(blocks.map((block) => start(block, { ...env, PORT: '0' })));
  const readme = fileURLToPath(await folder.write(blocksOf('README.md')[0]!));
  site = watch(
    spawn(process.execPath, [readme], { env: { ...env, PORT: String(port) }, stdio: ['ignore', 'ignore', 'pipe'] }),
  );
  await until(async () => (await fetchStatus()) === 200);

  const all = [...programs.values()];
  for (const program of all) program.seen.before = await ask(program);
  site.seen.before = await fetchStatus();
  await server.stop();
  for (let times = 0; times < 3; times += 1) {
    for (const program of all) program.seen.during.push(await ask(program));
    site.seen.during.push(await fetchStatus());
  }
  server = await startServer({ kind: 'redis', port: server.port });
  for (const program of all) {
    await until(async () => {
      program.seen.after = await ask(program);
      return isStore(program.seen.after);
    });
  }
  // Only the program itself knows that it is back on Redis: it says so.
  await until(async () => {
    site.seen.after = await fetchStatus();
    return site.stderr().includes('SLUICE_STORE_BACK');
  });
});
afterAll(async () => {
  for (const { child } of [...programs.values(), site].filter(Boolean)) child.kill('SIGKILL');
  folder?.remove();
  await server?.stop();
});

const warnings = ({ stderr }: Program): string[] =>
  [...stderr().matchAll(/^\(node:\d+\) \[(\w+)\]/gm)].map(([, code]) => code!);

test('there are blocks to run', () => {
  expect(blocks.filter(hasFallback).length).toBeGreaterThan(15);
});

test('the server of the README lives, answers and warns once each way', () => {
  expect(site.child.exitCode).toBeNull();
  expect(site.seen).toEqual({ before: 200, during: [200, 200, 200], after: 200 });
  expect(warnings(site)).toEqual(['SLUICE_STORE_AWAY', 'SLUICE_STORE_BACK']);
});

describe.each(blocks.map((block) => [block.page, block.title, block] as const))('%s: %s', (_page, _title, block) => {
  test('lives, answers and warns once each way', () => {
    const program = programs.get(block)!;
    const { before, during, after } = program.seen;
    const stores = (before as string[]).length;
    const everywhere = (source: string): string[] => Array(stores).fill(source);
    expect(program.child.exitCode).toBeNull();
    expect(stores > 0).toBe(hasFallback(block));
    expect({ before, during, after }).toEqual({
      before: everywhere('store'),
      during: [everywhere('fallback'), everywhere('fallback'), everywhere('fallback')],
      after: everywhere('store'),
    });
    expect(warnings(program).sort()).toEqual([...everywhere('SLUICE_STORE_AWAY'), ...everywhere('SLUICE_STORE_BACK')]);
  });
});
