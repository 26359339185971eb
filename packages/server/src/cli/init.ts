/** `sluice init`: a config to begin with. It asks a person three things, and takes the defaults where nobody can answer. */
import { writeFile } from 'node:fs/promises';
import { readConfig } from '../config/read-config.ts';
import { type Arguments, type Command, type Flags, wholeNumber } from './command.ts';
import { painter } from './paint.ts';
import { EXIT, type Terminal, UsageError } from './terminal.ts';

const FLAGS = {
  limit: { type: 'string' },
  window: { type: 'string' },
  key: { type: 'string' },
  proxies: { type: 'string' },
  yes: { type: 'boolean' },
} as const satisfies Flags;

/** Each with the question of a person, and what it is without an answer. */
const QUESTIONS = [
  ['limit', 'How many requests may one client send', '100'],
  ['window', 'in how much time', '1m'],
  ['key', 'What tells clients apart (ip, or header:x-api-key | ip)', 'ip'],
  ['proxies', 'How many proxies stand in front of your service', '0'],
] as const;

type Answers = Readonly<Record<(typeof QUESTIONS)[number][0], string>>;

export const initCommand: Command = {
  name: 'init',
  summary: 'Writes a commented policies.yaml to start from.',
  help: `Usage: sluice init [FILE] [--limit 100] [--window 1m] [--key ip] [--proxies 0] [--yes]

  FILE           policies.yaml by default. An existing file is never overwritten
  --limit N      how many requests one client may send in a window; 100 by default
  --window TIME  how long the window is; 1m by default
  --key KEY      what tells clients apart: ip, header:NAME, 'header:x-api-key | ip'; ip by default
  --proxies N    how many proxies stand in front of your service; 0 by default
  --yes          asks no questions

On a terminal it asks for what the flags do not say. In a pipe, a script or CI it asks no questions and uses the defaults.

Examples:
  sluice init
  sluice init limits.yaml --limit 20 --window 1s --key 'header:x-api-key | ip' --yes`,
  words: 'files',
  flags: FLAGS,
  async run(flags, terminal) {
    const [file = 'policies.yaml', ...more] = flags.words;
    if (more.length > 0) throw new UsageError(`unexpected ${JSON.stringify(more[0])}`);
    const answers = await answersOf(flags, terminal);
    const limit = wholeNumber('limit', answers.limit, [1, 1e9]);
    const proxies = wholeNumber('proxies', answers.proxies, [0, 100]);
    const text = configText({ ...answers, limit, proxies });
    const { problems } = readConfig(text);
    const [problem] = problems;
    if (problem !== undefined) throw new UsageError(`${problem.path}: ${problem.message}`);
    await writeFile(file, text, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      throw new UsageError(`${file} exists and is not overwritten. Name another file: sluice init FILE`);
    });
    terminal.out(
      `${painter(terminal.colors?.out).good('done:')} ${file} limits each client to ${limit} in ${answers.window}.\n` +
        `Look at it, then: sluice serve --config ${file}`,
    );
    return EXIT.ok;
  },
};

async function answersOf(flags: Arguments, { ask }: Terminal): Promise<Answers> {
  const answers: Record<string, string> = {};
  for (const [name, question, usual] of QUESTIONS) {
    const given = flags.text(name);
    const typed = given === undefined && !flags.has('yes') ? await ask?.(`${question}? [${usual}] `) : undefined;
    answers[name] = given ?? (typed?.trim() || usual);
  }
  return answers as unknown as Answers;
}

interface Numbers extends Pick<Answers, 'window' | 'key'> {
  readonly limit: number;
  readonly proxies: number;
}

/** As YAML takes it, whatever somebody typed. */
function yaml(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : JSON.stringify(text);
}

function configText({ limit, window, key, proxies }: Numbers): string {
  return `# Limits for: sluice serve --config FILE. The server reads this file again when it changes.
# sluice check FILE finds mistakes; sluice explain FILE --request 'GET /' says which rules match, and why.

# How many proxies stand in front of your service: it says whose address the client's is. 0 when clients connect directly.
trustedProxies: ${proxies}

policies:
  # Each has a name, an algorithm and its numbers. Change the numbers at any time: what was spent stays spent.
  api:
    algorithm: sliding-window-counter
    limit: ${limit}
    window: ${yaml(window)}
    # Other numbers for some callers: /v1/attempt takes a plan, and so does a rule (plan: header:x-plan).
    # plans:
    #   pro: { limit: ${limit * 10} }
    # A dry run: counts and reports whom it would deny, and denies nobody.
    # shadow: true

  # Few attempts in a long window, against brute force.
  login:
    algorithm: sliding-window-log
    limit: 5
    window: 15m

rules:
  # For gateways, which ask at /v1/check. Every rule that matches applies, and together they are one attempt: all or nothing.
  - name: health checks
    match: { path: /health }
    unlimited: true

  - name: logins
    match: { method: POST, path: /login }
    key: ip
    policy: login

  - name: everything
    key: ${yaml(key)}
    policy: api
`;
}
