/** What real shells offer, from the completions that the real command prints. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completionsIn, type ShellKind } from '../../../tools/servers/index.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { flagText } from '../src/cli/completions.ts';
import { sluice } from './processes.ts';
import { run } from './run.ts';

const SHELLS: readonly ShellKind[] = ['bash', 'zsh', 'fish'];
const folder = mkdtempSync(join(tmpdir(), 'sluice-completions-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'here'));
for (const name of ['policies.yaml', 'policy two.yaml']) writeFileSync(join(folder, 'here', name), '');

/** Asked all together: zsh takes a second to begin. */
const LINES = [
  'sluice ',
  'sluice che',
  'sluice help che',
  'sluice serve --fall',
  'sluice peek --fall',
  'sluice block user:42 --f',
  'sluice attempt serve --fall',
  'sluice serve --fallback ',
  'sluice serve --json --protect e',
  'sluice completions z',
  'sluice exceptions ov',
  'sluice check poli',
  'sluice serve --config policies',
  'sluice serve --port poli',
  'sluice attempt poli',
] as const;

describe.each(SHELLS)('%s', (shell) => {
  const file = join(folder, shell);
  let answers: ReadonlyMap<string, readonly string[]>;
  beforeAll(async () => {
    const { code, out } = await sluice('completions', shell);
    expect(code).toBe(0);
    writeFileSync(file, out);
    answers = await completionsIn(shell, file, LINES, join(folder, 'here'));
  });
  const offered = (line: (typeof LINES)[number]): readonly string[] => answers.get(line)!;

  test('commands', () => {
    expect(offered('sluice ')).toEqual(expect.arrayContaining([...COMMANDS.keys(), 'help']));
    expect(offered('sluice che')).toEqual(['check']);
    expect(offered('sluice help che')).toEqual(['check']);
  });

  test('flags of the command, and not those of another', () => {
    expect(offered('sluice serve --fall')).toEqual(['--fallback']);
    expect(offered('sluice peek --fall')).toEqual([]);
    expect(offered('sluice block user:42 --f')).toEqual(['--for']);
    // A key that is called like a command is none.
    expect(offered('sluice attempt serve --fall')).toEqual([]);
  });

  test('values of a flag, and words of a command', () => {
    expect(offered('sluice serve --fallback ')).toEqual(['allow', 'deny', 'local']);
    expect(offered('sluice serve --json --protect e')).toEqual(['everything']);
    expect(offered('sluice completions z')).toEqual(['zsh']);
    expect(offered('sluice exceptions ov')).toEqual(['override']);
  });

  test('files where a file is meant, and nothing where nobody knows', () => {
    expect(offered('sluice check poli')).toEqual(expect.arrayContaining(['policies.yaml']));
    expect(offered('sluice serve --config policies')).toEqual(['policies.yaml']);
    expect(offered('sluice serve --port poli')).toEqual([]);
    expect(offered('sluice attempt poli')).toEqual([]);
  });
});

test('bash: a value behind an equals sign', async () => {
  const lines = ['sluice serve --fallback=de', 'sluice serve --fallback='] as const;
  const answers = await completionsIn('bash', join(folder, 'bash'), lines, folder);
  expect([...answers.values()]).toEqual([['deny'], ['allow', 'deny', 'local']]);
});

test('every flag of every command is in its help, with a few words that completions show', async () => {
  for (const load of COMMANDS.values()) {
    const { name, help, flags } = await load();
    for (const flag of Object.keys(flags)) {
      expect(help, `${name} --${flag}`).toMatch(new RegExp(`--${flag}(?![\\w-])`));
      expect(flagText(help, flag), `${name} --${flag}`).not.toBe('');
    }
  }
});

test.each([[[]], [['tcsh']], [['bash', 'zsh']]])('completions %j is wrong usage', async (words) => {
  expect(await run(['completions', ...words])).toMatchObject({
    code: 2,
    error: expect.stringContaining('expected bash, zsh, fish'),
  });
});
