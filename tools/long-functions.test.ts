/** A function fits on a screen: at most 60 lines, in the library and in the tools. The code is formatted, so its indentation tells where one ends. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MOST_LINES = 60;
const STARTS = /(?:function\b.*|=>|\)(?:: [^{}]+)?) \{$/;
const NO_FUNCTION = /^\s*(?:\*|\/\/|(?:\} )?(?:if|for|while|switch|else|catch|try|do)\b|(?:describe|test|it)\b)/;

/** Name of the first line, and how many there are. */
function functionsOf(file: string): { readonly at: string; readonly lines: number }[] {
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, index) => {
    if (!STARTS.test(line) || NO_FUNCTION.test(line)) return [];
    const end = `${/^ */.exec(line)![0]}}`;
    const after = lines.slice(index + 1).findIndex((other) => other.startsWith(end));
    return [{ at: `${file}:${index + 1} ${line.trim()}`, lines: after + 2 }];
  });
}

test.each(['packages/sluice/src', 'tools'])('%s', (folder) => {
  const files = readdirSync(folder, { recursive: true })
    .map((file) => join(folder, String(file)))
    .filter((file) => /\.(ts|mjs)$/.test(file) && !/generated|node_modules|\.d\.ts$/.test(file));
  const functions = files.flatMap(functionsOf);
  expect(functions.length).toBeGreaterThan(200);
  expect(functions.filter(({ lines }) => lines > MOST_LINES)).toEqual([]);
});
