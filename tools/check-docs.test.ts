/** Every page passes the checklist of tools/docs/checklist.mjs. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allPages, findingsOf, pageText } from './docs/checklist.mjs';
import { wrapped } from './docs/wrap.mjs';

const root = new URL('..', import.meta.url).pathname;
const pages: readonly string[] = allPages(root);

test.each(pages)('%s passes the checklist', (page) => {
  const findings = findingsOf(page, pageText(root, page));
  expect(findings.map(({ line, rule, says }) => `${page}:${line} ${rule}: ${says}`)).toEqual([]);
});

const GOOD = `# Limit logins

Five attempts in 15 minutes.

\`\`\`ts
console.log('hello');
\`\`\`
`;
const rulesOf = (text: string, page = 'docs/recipes/x.md') => findingsOf(page, text).map(({ rule }) => rule);

test('a good page has nothing to say', () => {
  expect(rulesOf(GOOD)).toEqual([]);
});

test.each([
  ['a title that is a noun', GOOD.replace('# Limit logins', '# Logins'), ['title']],
  ['no title', GOOD.replace('# ', ''), ['title']],
  [
    'a long first paragraph',
    GOOD.replace('Five', 'One sentence here. '.repeat(20).replaceAll('. ', '.\n')),
    ['first paragraph'],
  ],
  ['a block far below', GOOD.replace('\n```ts', `\n${'A line.\n\n'.repeat(20)}\`\`\`ts`), ['first screen']],
  ['a block that nobody can run', GOOD.replace('```ts', '```text'), ['first screen']],
  ['a long sentence', `${GOOD}\n${'word\n'.repeat(41)}.`, ['sentence']],
  ['a long sentence in a list', `${GOOD}\n- ${'word\n  '.repeat(41)}.`, ['sentence']],
  ['a long sentence in a table', `${GOOD}\n| a | ${'word '.repeat(41)} |`, ['sentence']],
  ['a word that is replaced', `${GOOD}\nThe limiter refuses the request.`, ['word']],
  [
    'words that are replaced, across lines',
    `${GOOD}\nIt lets the request\nthrough, and it is as good\nas new.`,
    ['word', 'word'],
  ],
  ['a line that is too long', `${GOOD}\n${'Words. '.repeat(20)}`, ['width']],
])('finds %s', (_, text, rules) => expect(rulesOf(text)).toEqual(rules));

test.each([
  ['a word in code', `${GOOD}\nThe event is \`refused\`.`],
  ['a word in a block', `${GOOD}\n\`\`\`text\nrefused at once\n\`\`\``],
  ['what the field says', `${GOOD}\nRedis says: connection refused.`],
  ['two sentences of 30 words', `${GOOD}\n${`${'word\n'.repeat(30)}end.\n`.repeat(2)}`],
  ['long code in a short sentence', `${GOOD}\nCall \`${'a '.repeat(45)}\`.`],
])('does not mind %s', (_, text) => expect(rulesOf(text)).toEqual([]));

test('a page may say what it is for', () => {
  expect(
    rulesOf(`---\nkind: reference\n---\n${GOOD.replace('Limit logins', 'Logins').replace('```ts', '```text')}`),
  ).toEqual([]);
});

test('lines are named as an editor counts them', () => {
  const [finding] = findingsOf('docs/x.md', `${GOOD}\nFine.\nIt refuses.`);
  expect(finding).toMatchObject({ rule: 'word', line: 10 });
});

test('wrapping changes lines and no words', () => {
  const text = `${GOOD}\n- one \`two three\` ${'four five '.repeat(18)}\n\n${'six '.repeat(40)}\n\`\`\`sh\n${'x '.repeat(90)}\n\`\`\``;
  const mended = wrapped(text, 100);
  expect(mended.split(/\s+/)).toEqual(text.split(/\s+/));
  expect(rulesOf(mended)).toEqual([]);
  expect(wrapped(mended, 100)).toBe(mended);
});

test('the command prints what fails, and where', () => {
  const run = (...args: string[]) => {
    try {
      return {
        code: 0,
        said: execFileSync(process.execPath, ['tools/check-docs.mjs', ...args], { cwd: root, encoding: 'utf8' }),
      };
    } catch (error) {
      const { status, stdout } = error as { status: number; stdout: string };
      return { code: status, said: stdout };
    }
  };
  const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
  const bad = join(folder, 'bad.md');
  writeFileSync(bad, GOOD.replace('# Limit logins', '# Logins'));
  expect(run(bad)).toEqual({ code: 1, said: expect.stringMatching(/bad\.md:1 title: .*\n0 of 1 pages pass\n$/s) });
  rmSync(folder, { recursive: true });
  expect(run('README.md')).toEqual({ code: 0, said: '1 of 1 pages pass\n' });
  expect(run('--help').said).toContain('Usage: node tools/check-docs.mjs');
});
