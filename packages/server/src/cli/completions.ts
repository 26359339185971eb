/** `sluice completions`: what shells need to complete commands, flags and their values, from the table that --help is made of. */
import type { Command, Flag } from './command.ts';
import { COMMANDS } from './commands.ts';
import { EXIT, UsageError } from './terminal.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completionsCommand: Command = {
  name: 'completions',
  summary: 'Prints the script that completes sluice commands in bash, zsh or fish.',
  help: `Usage: sluice completions bash|zsh|fish

Examples:
  sluice completions bash > ~/.local/share/bash-completion/completions/sluice
  sluice completions zsh > "\${fpath[1]}/_sluice"
  sluice completions fish > ~/.config/fish/completions/sluice.fish
  source <(sluice completions bash)`,
  words: SHELLS,
  flags: {},
  async run({ words: [shell, ...more] }, terminal) {
    if (!SHELLS.includes(shell as 'bash') || more.length > 0) {
      throw new UsageError(
        `expected ${SHELLS.join(', ')}${shell === undefined ? '' : `, got ${JSON.stringify(shell)}`}`,
      );
    }
    const commands = await Promise.all([...COMMANDS.values()].map((load) => load()));
    const names = commands.map(({ name }) => name);
    const help = { name: 'help', summary: 'Shows the help of a command.', help: '', flags: {}, words: names };
    terminal.out(SCRIPTS[shell as 'bash']([...commands, help]));
    return EXIT.ok;
  },
};

/** What completions are made of. */
type Completed = Pick<Command, 'name' | 'summary' | 'help' | 'flags' | 'words'>;

const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], (commands: readonly Completed[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Each command takes it. */
const HELP: readonly [string, Flag] = ['help', { type: 'boolean' }];

function flagsOf({ flags }: Completed): readonly (readonly [name: string, flag: Flag])[] {
  return [...Object.entries(flags), HELP];
}

/** What the help says of a flag, in a few words. */
export function flagText(help: string, flag: string): string {
  if (flag === 'help') return 'shows the help of the command';
  const line =
    help.split('\n').find((each) => new RegExp(`^ +(?:--[\\w-]+(?: [A-Z]+)?, )*--${flag}(?![\\w-])`).test(each)) ?? '';
  const [, text = ''] = /^ +\S.*? {2,}(\S.*)$/.exec(line) ?? [];
  return text.replace(/(?:; |: | \(|\. [A-Z]).*$/, '').replace(/[;:,.]$/, '');
}

function bashScript(commands: readonly Completed[]): string {
  const values = commands.flatMap((command) =>
    flagsOf(command).flatMap(([name, flag]) => {
      if (flag.type === 'boolean') return [];
      const place = `    ${JSON.stringify(`${command.name} --${name}`)})`;
      if (flag.values !== undefined) return [`${place} _sluice_words ${quoted(flag.values.join(' '))}; return ;;`];
      return [`${place} ${flag.isFile === true ? '_sluice_files; ' : ''}return ;;`];
    }),
  );
  const words = commands.map((command) => {
    const flags = flagsOf(command).map(([name]) => `--${name}`);
    const more = Array.isArray(command.words) ? command.words : [];
    const files = command.words === 'files' ? '; _sluice_files' : '';
    return `    ${command.name}) _sluice_words ${quoted([...more, ...flags].join(' '))}${files} ;;`;
  });
  return `# bash completion for sluice
_sluice_words() {
  COMPREPLY+=($(compgen -W "$1" -- "$current"))
}

_sluice_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen -f -- "$current"))
}

_sluice() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    _sluice_words ${quoted([...commands.map(({ name }) => name), '--help', '--version'].join(' '))}
    return
  fi
  # --flag=value is three words here.
  if [ "$current" = = ]; then
    current=
  elif [ "$before" = = ]; then
    before=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  case "\${COMP_WORDS[1]} $before" in
${values.join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${words.join('\n')}
  esac
}

complete -F _sluice sluice`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function zshScript(commands: readonly Completed[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`);
  const cases = commands.map((command) => {
    const flags = flagsOf(command).map(([name, flag]) => `        ${quoted(zshFlag(command, name, flag))}`);
    return `    ${command.name})\n      _arguments \\\n${[...flags, `        ${quoted(zshWords(command))}`].join(' \\\n')}\n      ;;`;
  });
  return `#compdef sluice
_sluice() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}

if [ "$funcstack[1]" = _sluice ]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi`;
}

/** As _arguments has it: [description]:what:where from. */
function zshFlag({ help }: Completed, name: string, { type, multiple, values, isFile }: Flag): string {
  const head = `${multiple === true ? '*' : ''}--${name}[${flagText(help, name).replace(/[[\]\\]/g, '\\$&')}]`;
  if (type === 'boolean') return head;
  const from = values === undefined ? (isFile === true ? '_files' : ' ') : `(${values.join(' ')})`;
  return `${head}:${name}:${from}`;
}

function zshWords({ words }: Completed): string {
  if (words === undefined) return '*:word: ';
  return words === 'files' ? '*:file:_files' : `1:word:(${words.join(' ')})`;
}

function fishScript(commands: readonly Completed[]): string {
  const lines = commands.flatMap((command) => {
    const { name, summary, help, words } = command;
    const here = `complete -c sluice -n ${quoted(`__sluice_command ${name}`)}`;
    const ofWords =
      words === undefined ? [] : [words === 'files' ? `${here} -F` : `${here} -a ${quoted(words.join(' '))}`];
    return [
      `complete -c sluice -n __sluice_no_command -a ${name} -d ${fishQuoted(summary)}`,
      ...ofWords,
      ...flagsOf(command).map(([flag, { type, values, isFile }]) => {
        const value = type === 'boolean' ? '' : isFile === true ? ' -r -F' : ' -x';
        const list = values === undefined ? '' : ` -a ${quoted(values.join(' '))}`;
        return `${here} -l ${flag}${value}${list} -d ${fishQuoted(flagText(help, flag))}`;
      }),
    ];
  });
  return `# fish completion for sluice
function __sluice_no_command
    test (count (commandline -opc)) -eq 1
end

function __sluice_command
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

complete -c sluice -f
${lines.join('\n')}`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}
