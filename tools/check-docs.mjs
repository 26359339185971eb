/** Prints what each page fails of the checklist (tools/docs/checklist.mjs): `node tools/check-docs.mjs [docs/x.md ...]`. */

import { writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { allPages, findingsOf, pageText, WIDTH } from './docs/checklist.mjs';
import { wrapped } from './docs/wrap.mjs';
import { workspaceFolder } from './steps.mjs';

const HELP = `Usage: node tools/check-docs.mjs [--summary] [--wrap] [PAGE ...]

Prints what fails per page: title that names a task, first paragraph under 60 words, a block to run on the first
screen of a how-to, no sentence over 40 words, none of the words the house replaces, lines of 100 columns.
Without PAGE: all pages. Exit code 1 when something fails.

  --summary    one line a page: how often each rule fails
  --wrap       first wraps what is too long, in the named pages: that is all it can mend by itself
`;

const { values, positionals } = parseArgs({
  options: {
    summary: { type: 'boolean', default: false },
    wrap: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

function main() {
  if (values.help) return console.log(HELP.trimEnd());
  const pages = positionals.length === 0 ? allPages(workspaceFolder) : positionals.map(fromRoot);
  if (values.wrap) for (const page of positionals.map(fromRoot)) wrap(page);
  let failed = 0;
  for (const page of pages) {
    const findings = findingsOf(page, pageText(workspaceFolder, page));
    if (findings.length === 0) continue;
    failed += 1;
    if (values.summary) console.log(`${page}: ${countsOf(findings)}`);
    else for (const { line, rule, says } of findings) console.log(`${page}:${line} ${rule}: ${says}`);
  }
  console.log(`${pages.length - failed} of ${pages.length} pages pass`);
  process.exitCode = failed === 0 ? 0 : 1;
}

function wrap(page) {
  const text = pageText(workspaceFolder, page);
  const mended = wrapped(text, WIDTH);
  if (mended !== text) writeFileSync(join(workspaceFolder, page), mended);
}

function fromRoot(file) {
  return relative(workspaceFolder, resolve(file)).replaceAll('\\', '/');
}

function countsOf(findings) {
  const counts = new Map();
  for (const { rule } of findings) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return [...counts].map(([rule, count]) => `${count} ${rule}`).join(', ');
}

main();
