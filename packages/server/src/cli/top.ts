/** `sluice top`: what a server decides right now, drawn again and again until Ctrl-C. */
import { once } from 'node:events';
import type { LiveAnswer } from '../service/live-view.ts';
import { type Command, type Flags, wholeNumber } from './command.ts';
import { SERVER_FLAGS, SERVER_HELP, type ServerApi, serverApi } from './server-api.ts';
import { EXIT, type Screen, type Terminal, UsageError } from './terminal.ts';
import { type TopView, topLine, topLines } from './top-text.ts';

const FLAGS = {
  ...SERVER_FLAGS,
  seconds: { type: 'string' },
  every: { type: 'string' },
  once: { type: 'boolean' },
  json: { type: 'boolean' },
} as const satisfies Flags;

export const topCommand: Command = {
  name: 'top',
  summary: 'Shows live which keys are denied most, decisions by policy, and how fast the store is.',
  help: `Usage: sluice top [--server URL] [--seconds 10] [--every 1] [--once] [--json]

Draws until you press Ctrl-C. When the output is not a terminal, it writes a line each time instead.

${SERVER_HELP}
  --seconds N      how far back the numbers go, 1 to 60; 10 by default
  --every N        seconds between updates; 1 by default
  --once           prints once and exits
  --json           each update as a line of JSON, as GET /v1/live returns it

Exit codes: 0 ended by Ctrl-C or --once, 2 wrong usage, 3 the first request failed.

Examples:
  sluice top
  SLUICE_TOKEN=secret sluice top --server https://limits.example --seconds 60
  sluice top --once --json`,
  flags: FLAGS,
  async run(flags, terminal) {
    if (flags.words.length > 0) throw new UsageError(`unexpected ${JSON.stringify(flags.words[0])}`);
    const seconds = wholeNumber('seconds', flags.text('seconds') ?? '10', [1, 60]);
    const everyMs = wholeNumber('every', flags.text('every') ?? '1', [1, 3600]) * 1e3;
    const source = sourceOf(serverApi(flags), seconds);
    const first = await source.look();
    const { screen } = terminal;
    const isJson = flags.has('json');
    if (flags.has('once')) {
      terminal.out(isJson ? JSON.stringify(first) : topLines({ ...source, view: first }, WIDE).join('\n'));
    } else if (isJson || screen === undefined) {
      await eachTime(source, everyMs, first, lineWriter(terminal, isJson));
    } else {
      await onScreen(screen, source, everyMs, first);
    }
    return EXIT.ok;
  },
};

/** Where nobody's window sets a limit. */
const WIDE = { columns: 200, rows: 60 };

interface Source {
  readonly url: string;
  look(): Promise<LiveAnswer>;
}

function sourceOf({ url, ask }: ServerApi, seconds: number): Source {
  return { url, look: async () => (await ask(`/v1/live?seconds=${seconds}&top=100`)) as unknown as LiveAnswer };
}

type Show = (look: Pick<TopView, 'view' | 'problem'>) => void;

/** Until Ctrl-C. A server that goes away is looked for again: the last numbers stay, with what is wrong. */
async function eachTime(source: Source, everyMs: number, first: LiveAnswer, show: Show): Promise<void> {
  let view = first;
  show({ view });
  const ended = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]).then(() => true);
  while (!(await endedWithin(everyMs, ended))) {
    await source.look().then(
      (fresh) => {
        view = fresh;
        show({ view });
      },
      (error: Error) => show({ view, problem: error.message }),
    );
  }
}

function endedWithin(ms: number, ended: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const passed = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  return Promise.race([ended, passed]).finally(() => clearTimeout(timer));
}

function lineWriter(terminal: Terminal, isJson: boolean): Show {
  return ({ view, problem }) => {
    if (problem !== undefined) terminal.error(`sluice top: ${problem}`);
    else terminal.out(isJson ? JSON.stringify(view) : topLine(view));
  };
}

/**
 * The second screen of the terminal, without a cursor: what was there before is back at the end, whatever happens. Lines are cut, not
 * continued, because keys may have letters of two columns, and a line too many moves the first out of sight.
 */
const [ENTER, LEAVE] = ['\x1b[?1049h\x1b[?25l\x1b[?7l', '\x1b[?7h\x1b[?25h\x1b[?1049l'];
const [HOME, END_OF_LINE, END_OF_SCREEN] = ['\x1b[H', '\x1b[K', '\x1b[J'];

async function onScreen(screen: Screen, source: Source, everyMs: number, first: LiveAnswer): Promise<void> {
  let last: Pick<TopView, 'view' | 'problem'> = { view: first };
  const draw = (): void => {
    const lines = topLines({ ...last, url: source.url }, screen);
    screen.write(HOME + lines.map((line) => line + END_OF_LINE).join('\n') + END_OF_SCREEN);
  };
  screen.write(ENTER);
  const stop = screen.onResize(draw);
  try {
    await eachTime(source, everyMs, first, (look) => {
      last = look;
      draw();
    });
  } finally {
    stop();
    screen.write(LEAVE);
  }
}
