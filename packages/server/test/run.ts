/** The command in this process: its exit code and what it said. */
import { main } from '../src/cli/main.ts';
import type { Screen } from '../src/cli/terminal.ts';

export interface Said {
  readonly code: number;
  readonly out: string;
  readonly error: string;
}

export async function run(
  args: readonly string[],
  environment: Record<string, string> = {},
  screen?: Screen,
): Promise<Said> {
  const said = { out: '', error: '' };
  const code = await main(args, {
    out: (text) => {
      said.out += `${text}\n`;
    },
    error: (text) => {
      said.error += `${text}\n`;
    },
    environment,
    screen,
  });
  return { code, ...said };
}
