/** A release takes its version and its notes from CHANGELOG.md; a dry run changes nothing. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dated, obstacles, PACKAGES, versionsOf, withVersion } from './release.mjs';

const root = new URL('..', import.meta.url).pathname;
const CHANGELOG = '# Changelog\n\n## 0.2.0, unreleased\n\nNews.\n\n- one\n- two\n\n## 0.1.0, 2026-01-02\n\n- first\n';

test('a changelog is read version by version', () => {
  expect(versionsOf(CHANGELOG)).toEqual([
    { version: '0.2.0', date: 'unreleased', notes: 'News.\n\n- one\n- two' },
    { version: '0.1.0', date: '2026-01-02', notes: '- first' },
  ]);
  expect(() => versionsOf('## 0.2, soon\n')).toThrow('expected "## VERSION, DATE"');
  expect(versionsOf(dated(CHANGELOG, '0.2.0', '2026-02-03'))[0]!.date).toBe('2026-02-03');
});

test('the version of a package is that of the packages it needs', () => {
  const manifest = {
    name: 'x',
    version: '0.1.0',
    dependencies: { sluice: '0.1.0', yaml: '2.0.0' },
    devDependencies: { '@sluice/server': '0.1.0' },
  };
  expect(withVersion(manifest, '0.2.0')).toEqual({
    name: 'x',
    version: '0.2.0',
    dependencies: { sluice: '0.2.0', yaml: '2.0.0' },
    devDependencies: { '@sluice/server': '0.2.0' },
  });
});

test('what is in the way is said', () => {
  const latest = { version: '0.2.0', date: 'unreleased', notes: '- one' };
  const whole = { name: 'x', repository: 'r', homepage: 'h', bugs: 'b' };
  expect(obstacles({ latest, manifests: [whole], isClean: true })).toEqual([]);
  const many = obstacles({
    latest: { ...latest, date: '2026-01-02', notes: '' },
    manifests: [{ name: 'x' }],
    isClean: false,
  });
  expect(many.join('\n')).toMatch(
    /unreleased" above it[\s\S]*no notes[\s\S]*not committed[\s\S]*repository, homepage, bugs/,
  );
});

test('all packages have one version, and need each other in it', () => {
  const manifests = PACKAGES.map((path: string) => JSON.parse(readFileSync(`${root}${path}/package.json`, 'utf8')));
  for (const manifest of manifests) expect(withVersion(manifest, manifests[0].version)).toEqual(manifest);
});

test('a dry run says what would be done, and changes nothing', () => {
  const status = () => execFileSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' });
  const before = status();
  const said = execFileSync(process.execPath, ['tools/release.mjs', '--dry-run'], { cwd: root, encoding: 'utf8' });
  expect(said).toMatch(/^Release \d+\.\d+\.\d+: \d+ entries[\s\S]*npm publish[\s\S]*Nothing was changed\.$/m);
  expect(status()).toBe(before);
});
