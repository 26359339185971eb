/** Real zsh and fish for tests; bash is on every machine that builds this. */

import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type FoundProgram, findProgram, type WantedProgram } from './programs.ts';

export type ShellKind = 'bash' | 'zsh' | 'fish';

const SHELLS: Readonly<Record<ShellKind, WantedProgram>> = {
  bash: { name: 'bash', packageName: 'bash', trial: ['--version'] },
  zsh: { name: 'zsh', packageName: 'zsh', trial: ['--version'] },
  fish: { name: 'fish', packageName: 'fish', trial: ['--version'] },
};

export function findShell(kind: ShellKind): Promise<FoundProgram> {
  return findProgram(SHELLS[kind]);
}

/**
 * What a shell offers for each line that is typed so far, in the folder `cwd`, once it has read a file of completions. Each shell is asked in its
 * own way: bash calls the function that was registered, fish has a command for it, and zsh has to be typed at.
 */
export async function completionsIn(
  kind: ShellKind,
  file: string,
  lines: readonly string[],
  cwd: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const texts = await ASK[kind](await findShell(kind), file, lines, cwd);
  return new Map(lines.map((line, index) => [line, wordsIn(texts[index]!)]));
}

function wordsIn(text: string): string[] {
  return [...new Set(text.split('\n').map((each) => each.trim()))].filter((each) => each !== '').sort();
}

type Ask = (program: FoundProgram, file: string, lines: readonly string[], cwd: string) => Promise<string[]>;

const ASK: Readonly<Record<ShellKind, Ask>> = { bash: askBash, zsh: askZsh, fish: askFish };

/** The words of a line are what readline makes of them: = parts words. */
function askBash(program: FoundProgram, file: string, lines: readonly string[], cwd: string): Promise<string[]> {
  return Promise.all(lines.map((line) => askBashOne(program, file, line, cwd)));
}

function askBashOne(program: FoundProgram, file: string, line: string, cwd: string): Promise<string> {
  const words = line.split(/ +|(?==)|(?<==)/);
  const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}
_sluice 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return output(program, ['--norc', '-c', script, 'bash', file, ...words], cwd);
}

function askFish(program: FoundProgram, file: string, lines: readonly string[], cwd: string): Promise<string[]> {
  const script = 'source $argv[1]; complete -C $argv[2]';
  const asked = lines.map((line) => output(program, ['--no-config', '-c', script, file, line], cwd));
  // What comes after a tab is the description.
  return Promise.all(asked.map(async (text) => (await text).replace(/\t.*$/gm, '')));
}

/** In a terminal of its own, where the function that takes matches prints them instead. */
const ZSH_SCRIPT = String.raw`
zmodload zsh/zpty
zpty shell "${'$'}ZSH_PROGRAM" -f -i
type-in() { zpty -w shell "$1" }
type-in "PROMPT=; module_path=($module_path); fpath=($fpath); cd ${'$'}{(q)PWD}"
type-in 'autoload -Uz compinit; compinit -u -D'
type-in "source ${'$'}{(q)1}"
type-in 'compadd() {
  if [[ ${'$'}{@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return $?; fi
  typeset -a hits; builtin compadd -A hits "$@"
  local hit; for hit in $hits; do print -r -- "<hit>$hit<hit>"; done
}
offered() { _main_complete 2>/dev/null; print "<over>" }
zle -C offered complete-word offered
bindkey "^I" offered
print "<re""ady>"'
local text
while zpty -r shell text; do [[ $text == *"<ready>"* ]] && break; done
local line
for line in "${'$'}{@[2,-1]}"; do
  zpty -w -n shell "$line"$'\t'
  while zpty -r shell text; do print -r -- "$text"; [[ $text == *"<over>"* ]] && break; done
  zpty -w -n shell $'\C-u'
done
`;

async function askZsh(program: FoundProgram, file: string, lines: readonly string[], cwd: string): Promise<string[]> {
  // Unpacked, it does not know where its modules and functions are.
  const root = join(dirname(program.file), program.file.includes('/usr/') ? '../..' : '..');
  const functions = join(root, 'usr', 'share', 'zsh', 'functions');
  const all = await readdir(functions, { recursive: true, withFileTypes: true }).catch(() => []);
  const folders = all.filter((each) => each.isDirectory()).map((each) => join(each.parentPath, each.name));
  const modules = (program.env.LD_LIBRARY_PATH ?? '').split(':').flatMap((each) => [join(each, 'zsh', '5.9'), each]);
  const paths =
    program.env.LD_LIBRARY_PATH === undefined ? '' : `module_path=(${modules.join(' ')}); fpath=(${folders.join(' ')})`;
  const env = { ...program.env, ZSH_PROGRAM: program.file };
  const text = await output({ ...program, env }, ['-f', '-c', `${paths}\n${ZSH_SCRIPT}`, 'zsh', file, ...lines], cwd);
  return text.split('<over>').map((part) => [...part.matchAll(/<hit>(.*?)<hit>/g)].map(([, hit]) => hit).join('\n'));
}

function output({ file, env }: FoundProgram, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, { cwd, env: { ...process.env, ...env } }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${file} failed (${error.code}): ${stdout}${stderr}`));
    });
    child.stdin?.end();
  });
}
