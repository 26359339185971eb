/** docs/operate/versions.md says what is installed, and what package.json asks for. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { findServer } from '../../../tools/servers/index.ts';
import { findPostgres } from '../../../tools/servers/postgres.ts';
import { textOf } from './support/doc-blocks.ts';

const root = new URL('../../../', import.meta.url);
const json = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'));
const manifest = json('packages/sluice/package.json');
const PAGE = textOf('docs/operate/versions.md');

/** The cells of the rows of a section. */
function rowsOf(heading: string): string[][] {
  const [, section = ''] = new RegExp(`^## ${heading}$(.*?)(?=^## |$(?![\\s\\S]))`, 'ms').exec(PAGE) ?? [];
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.includes('Supported'));
  return rows.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

/** Of each form of a package that the tests use: `express`, and an alias of an older one beside it; some are in a folder of their own. */
function installed(name: string): string[] {
  const aliases = Object.entries<string>(json('package.json').devDependencies).filter(
    ([alias, version]) => alias === name || version.startsWith(`npm:${name}@`),
  );
  if (aliases.length === 0) return [json('tools/sveltekit/package.json').devDependencies[name]];
  return aliases.map(([alias]) => json(`node_modules/${alias}/package.json`).version as string).sort();
}

describe.each(['Clients', 'Frameworks'])('%s', (heading) => {
  test.each(rowsOf(heading))('%s', (name, supported, tested) => {
    expect(manifest.peerDependencies[name!]).toBe(supported);
    expect(tested!.split(', ')).toEqual(installed(name!));
  });
});

test('no client is missing', () => {
  const named = [...rowsOf('Clients'), ...rowsOf('Frameworks')].map(([name]) => name!);
  const others = ['@nestjs/common', '@nestjs/throttler', 'express-rate-limit'];
  const wanted = Object.keys(manifest.peerDependencies).filter((name) => !others.includes(name));
  expect(wanted.filter((name) => !named.includes(name))).toEqual([]);
});

test('runtimes', () => {
  const tested = Object.fromEntries(rowsOf('Runtimes').map(([name, , versions]) => [name, versions]));
  const runtimes = json('tools/runtimes/package.json').devDependencies;
  const alias = (name: string): string => runtimes[name].split('@').at(-1);
  expect(tested).toEqual({
    Node: `20, ${alias('node-22')}, ${alias('node-24')}`,
    Bun: runtimes['@oven/bun-linux-x64'],
    Deno: runtimes['@deno/linux-x64-glibc'],
    'Cloudflare Workers': `workerd ${runtimes['@cloudflare/workerd-linux-64']}`,
    'AWS Lambda': `AWS's runtime client ${json('tools/lambda/package.json').devDependencies['aws-lambda-ric']}`,
    'Next.js': json('tools/next/package.json').devDependencies.next,
    TypeScript: `${json('tools/commonjs/package.json').devDependencies.typescript}, ${json('package.json').devDependencies.typescript}`,
  });
  expect(manifest.engines.node).toBe('>=20');
});

test('servers', async () => {
  const tested = Object.fromEntries(rowsOf('Servers').map(([name, , versions]) => [name, versions]));
  const major = ({ version }: { version: string }): string => version.split('.')[0]!;
  const [redis, valkey, postgres] = await Promise.all([findServer('redis'), findServer('valkey'), findPostgres()]);
  expect([tested.Redis, tested.Valkey, tested.Postgres]).toEqual([major(redis), major(valkey), major(postgres)]);
});
