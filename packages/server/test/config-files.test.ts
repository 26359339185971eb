/** A config in several files and folders: what they are together, what is wrong between them, and when it is read again. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { problemText } from '../src/files/problem.ts';
import { configOf, findFiles } from '../src/service/load-config.ts';
import { type Watch, watchConfig } from '../src/service/watch-config.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-files-'));
afterAll(() => rmSync(root, { recursive: true }));

let folder: string;
let count = 0;
beforeEach(() => {
  count += 1;
  folder = join(root, String(count));
  mkdirSync(folder);
});

const policies = (limit: number, ...names: string[]): string =>
  `policies:\n${names.map((name) => `  ${name}: { algorithm: fixed-window, limit: ${limit}, window: 1d }\n`).join('')}`;
const write = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};

async function read(...paths: string[]) {
  const { config, problems, files } = configOf(await findFiles(paths), {});
  return { config, files, lines: problems.map((problem) => problemText(problem).replaceAll(`${folder}/`, '')) };
}

describe('several files', () => {
  test('are one config: rules and overrides of one may name policies of another', async () => {
    write('10-policies.yaml', policies(1, 'api', 'daily'));
    write('20-rules.yml', 'rules:\n  - { name: first, key: ip, policies: [api, more] }\n');
    write(
      '30-more.yaml',
      `${policies(2, 'more')}rules: [{ name: second, key: ip, policy: daily }]\ntrustedProxies: 1\n`,
    );
    write('40-overrides.yaml', 'overrides: [{ key: vip, policy: api, limits: { limit: 9 } }]\n');
    write('notes.txt', 'not yaml: [');
    write('.hidden.yaml', 'not yaml: [');
    const { config, lines, files } = await read(folder);
    expect(lines).toEqual([]);
    expect([...config!.policies.keys()]).toEqual(['api', 'daily', 'more']);
    expect(config!.rules.map(({ name }) => name)).toEqual(['first', 'second']);
    expect(config!.policies.get('api')!.overrides.get('vip')?.policy).toMatchObject({ limit: 9 });
    expect(config!.trustedProxies).toBe(1);
    expect(files.map(({ policies, rules }) => [policies, rules])).toEqual([
      [2, 0],
      [0, 1],
      [1, 1],
      [0, 0],
    ]);
  });

  test('in the order they are given, also a folder among them', async () => {
    const last = write('a.yaml', `${policies(1, 'a')}rules: [{ name: last, key: ip, policy: a }]\n`);
    mkdirSync(join(folder, 'rules'));
    write('rules/b.yaml', 'rules: [{ name: first, key: ip, policy: a }]\n');
    const { config } = await read(join(folder, 'rules'), last);
    expect(config!.rules.map(({ name }) => name)).toEqual(['first', 'last']);
  });

  test('every problem of every file, and those between them', async () => {
    write('a.yaml', `${policies(1, 'api', 'own')}trustedProxies: 1\n`);
    write('b.yaml', `${policies(0, 'own')}trustedProxies: 2\nrules: [{ key: ip, policy: nope }]\n`);
    write('c.yaml', 'typo: 1\n');
    expect((await read(folder, join(folder, 'missing.yaml'))).lines).toEqual([
      'b.yaml:2:3: policies.own: is already in a.yaml',
      expect.stringMatching(/^b\.yaml:2:35: policies\.own\.limit: expected a whole number/),
      'b.yaml:3:1: trustedProxies: is already in a.yaml',
      'b.yaml:4:20: rules[0].policy: no such policy: "nope"',
      expect.stringMatching(/^c\.yaml:1:1: typo: no such field/),
      expect.stringMatching(/^missing\.yaml: cannot be read: ENOENT/),
    ]);
  });

  test('where one is no YAML, names of the others are not called wrong', async () => {
    write('a.yaml', 'policies: {');
    write('b.yaml', 'rules: [{ key: ip, policy: api }]\noverrides: [{ key: a, policy: api, limits: { limit: 1 } }]\n');
    expect((await read(folder)).lines).toEqual([expect.stringMatching(/^a\.yaml:1:12: /)]);
  });

  test.each([
    ['an empty folder', {}, 'expected *.yaml or *.yml in it, got none'],
    [
      'no policies at all',
      { 'a.yaml': 'rules: []', 'b.yaml': 'rules: []' },
      'a.yaml:1:1: policies: expected a map of at least one',
    ],
  ])('%s', async (_, texts, message) => {
    for (const [name, text] of Object.entries(texts)) write(name, text);
    const { config, lines } = await read(folder);
    expect([config, lines]).toEqual([undefined, [expect.stringContaining(message)]]);
  });
});

describe('what changes on the disk', () => {
  const told: string[] = [];
  let isTaken = true;
  let watch: Watch;
  afterEach(() => {
    watch.stop();
    told.length = 0;
  });

  /** Looks only when it is told to. */
  const watching = async (paths: readonly string[], find = findFiles): Promise<void> => {
    watch = watchConfig({
      ...{ paths, find },
      found: await findFiles(paths),
      environment: {},
      intervalMs: 1e6,
      onChange: ({ policies }) => {
        told.push(
          [...policies.values()].map(({ name, policy }) => `${name} ${'limit' in policy && policy.limit}`).join(', '),
        );
        return isTaken;
      },
      onProblems: (lines) => told.push(`problem: ${lines.join(' ').replaceAll(`${folder}/`, '')}`),
    });
  };
  /** What it tells of a change, which is only told once. */
  const afterwards = async (): Promise<string[]> => {
    told.length = 0;
    await watch.reload();
    await watch.reload();
    return [...told];
  };

  test('what is not taken is tried again with every look, until it is', async () => {
    await watching([write('a.yaml', policies(1, 'api'))]);
    write('a.yaml', policies(2, 'api'));
    isTaken = false;
    expect(await afterwards()).toEqual(['api 2', 'api 2']);
    isTaken = true;
    expect(await afterwards()).toEqual(['api 2']);
    expect(await afterwards()).toEqual([]);
  });

  test('a file that is written, replaced, broken and mended', async () => {
    const file = write('a.yaml', policies(1, 'api'));
    await watching([file]);
    expect(await afterwards()).toEqual([]);
    write('a.yaml', policies(2, 'api'));
    expect(await afterwards()).toEqual(['api 2']);
    renameSync(write('new', policies(3, 'api')), file);
    expect(await afterwards()).toEqual(['api 3']);
    write('a.yaml', 'policies: {');
    expect(await afterwards()).toEqual([expect.stringMatching(/^problem: a\.yaml:1:12: /)]);
    rmSync(file);
    expect(await afterwards()).toEqual([expect.stringMatching(/^problem: a\.yaml: cannot be read/)]);
    write('a.yaml', policies(3, 'api'));
    expect(await afterwards()).toEqual(['api 3']);
  });

  test('a folder in which files come and go', async () => {
    write('a.yaml', policies(1, 'a'));
    await watching([folder]);
    write('b.yaml', policies(1, 'b'));
    expect(await afterwards()).toEqual(['a 1, b 1']);
    write('ignored.txt', 'x');
    expect(await afterwards()).toEqual([]);
    write('c.yaml', policies(5, 'a'));
    expect(await afterwards()).toEqual(['problem: c.yaml:2:3: policies.a: is already in a.yaml']);
    rmSync(join(folder, 'a.yaml'));
    expect(await afterwards()).toEqual(['b 1, a 5']);
    rmSync(folder, { recursive: true });
    expect(await afterwards()).toEqual([expect.stringContaining('cannot be read')]);
  });

  test('a ConfigMap as Kubernetes mounts it: all files at once, by turning the link ..data', async () => {
    const version = (name: string, limit: number): void => {
      mkdirSync(join(folder, name));
      write(`${name}/one.yaml`, policies(limit, 'one'));
      write(`${name}/two.yaml`, policies(limit, 'two'));
    };
    version('..2026_1', 1);
    symlinkSync('..2026_1', join(folder, '..data'));
    for (const name of ['one.yaml', 'two.yaml']) symlinkSync(join('..data', name), join(folder, name));
    await watching([folder]);
    version('..2026_2', 2);
    expect(await afterwards()).toEqual([]);
    symlinkSync('..2026_2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    rmSync(join(folder, '..2026_1'), { recursive: true });
    expect(await afterwards()).toEqual(['one 2, two 2']);
  });

  test('a file that changes while it is read is left to the next look', async () => {
    const file = write('a.yaml', policies(1, 'a'));
    // Each reading finds what comes next: half of it, then the whole.
    const texts = ['policies: {', policies(2, 'a'), policies(2, 'a'), policies(2, 'a')];
    await watching([file], async (paths) => {
      write('a.yaml', texts.shift()!);
      return findFiles(paths);
    });
    await watch.reload();
    expect([told, texts.length]).toEqual([[], 2]);
    await watch.reload();
    expect(told).toEqual(['a 2']);
  });
});
