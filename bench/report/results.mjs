/** bench/RESULTS.md: what a full run measured, where, and how to measure it again. */
import { conditionLines } from './conditions.mjs';
import { reachTable } from './reach.mjs';

export function resultsMarkdown(run) {
  const { scenarios, reach } = run;
  return [
    '# Sluice beside what people use today',
    '',
    'The README has the short version. Here are all tables: each compares Sluice with the packages people use today, on one machine. Machines are noisy and this one is shared: read ratios and server CPU, not rates.',
    '',
    'Written by `npm run bench -- --write-results`; do not edit.',
    '',
    ...conditionLines(run).map((line) => `- ${line}`),
    '- To reproduce: `npm ci && npm run bench -- --write-results`; `npm run bench -- --help` for parts of it',
    ...scenarios.flatMap(({ title, tables }) => ['', `## ${title}`, '', ...tables.flatMap(section)]),
    '## Targets of the project',
    '',
    'What the authors want to reach, not what a release promises. "NO" is work to do.',
    '',
    ...markdownTable(reachTable(reach)),
    '',
  ].join('\n');
}

const section = (table) => [`### ${table.title}`, '', ...markdownTable(table), ''];

function markdownTable({ columns, rows, notes = [] }) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${columns.map((_, i) => (i === 0 ? '---' : '---:')).join('|')}|`;
  return [line(columns), rule, ...rows.map(line), ...notes.flatMap((note) => ['', note])];
}
