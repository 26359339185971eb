/** What newcomers read first is true: commands exist, paths exist, links lead somewhere, and the tree is the tree. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const PAGES = [
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
  'examples/README.md',
  '.github/pull_request_template.md',
];
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

test.each(PAGES)('%s: links lead to files, and commands are there', (page) => {
  const text = readFileSync(page, 'utf8');
  for (const [, link] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
    expect(existsSync(join(dirname(page), link!)), link).toBe(true);
  }
  for (const [, name] of text.matchAll(/npm run ([\w:]+)/g)) expect(Object.keys(scripts)).toContain(name);
  for (const [, file] of text.matchAll(/node ((?:tools|examples)\/[\w./-]+)/g))
    expect(existsSync(file!), file).toBe(true);
});

test('CONTRIBUTING names every folder of the library, and no others', () => {
  const [, tree] = /packages\/sluice\/src\n(.*?)\n {4}packages\/server/s.exec(readFileSync('CONTRIBUTING.md', 'utf8'))!;
  const named = [...tree!.matchAll(/^ {6}([\w-]+)\//gm)].map(([, name]) => name);
  const folders = readdirSync('packages/sluice/src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(named.sort()).toEqual(folders.map(({ name }) => name).sort());
});

test('CONTRIBUTING names every file of an algorithm', () => {
  const text = readFileSync('CONTRIBUTING.md', 'utf8');
  const endings = readdirSync('packages/sluice/src/algorithms/fixed-window').map((file) =>
    file.replace('fixed-window', 'NAME'),
  );
  for (const file of endings.filter((each) => !each.includes('generated'))) expect(text).toContain(`\`${file}\``);
});

test('ARCHITECTURE is one page', () => {
  expect(readFileSync('ARCHITECTURE.md', 'utf8').split('\n').length).toBeLessThan(90);
});

test('the workflow runs what there is', () => {
  const { jobs } = parse(readFileSync('.github/workflows/check.yml', 'utf8'));
  const steps = Object.values(jobs as Record<string, { steps: { run?: string }[] }>).flatMap((job) => job.steps);
  const runs = steps.flatMap(({ run }) => run ?? []);
  expect(runs).toContain('npm test');
  for (const run of runs) {
    const [, name] = /^npm run ([\w:]+)$/.exec(run) ?? [];
    if (name !== undefined) expect(Object.keys(scripts)).toContain(name);
  }
  for (const file of readdirSync('.github/ISSUE_TEMPLATE')) {
    expect(parse(readFileSync(`.github/ISSUE_TEMPLATE/${file}`, 'utf8'))).toBeTypeOf('object');
  }
});
