/** bench/RESULTS.md: what a full run measured, where, and how to measure it again. */
import { conditionLines } from './conditions.mjs';
import { reachTable } from './reach.mjs';

export function resultsMarkdown(run) {
  const { scenarios, reach } = run;
  return [
    '# Sluice beside what people use today',
    '',
    'Written by `npm run bench -- --write-results`; do not edit. Machines are noisy and this one is shared: read ratios and server CPU, not rates.',
    '',
    ...conditionLines(run).map((line) => `- ${line}`),
    '- To reproduce: `npm ci && npm run bench -- --write-results`; `npm run bench -- --help` for parts of it',
    '',
    '## Reach',
    '',
    ...markdownTable(reachTable(reach)),
    ...scenarios.flatMap(({ title, tables }) => ['', `## ${title}`, '', ...tables.flatMap(section)]),
  ].join('\n');
}

const section = (table) => [`### ${table.title}`, '', ...markdownTable(table), ''];

function markdownTable({ columns, rows, notes = [] }) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${columns.map((_, i) => (i === 0 ? '---' : '---:')).join('|')}|`;
  return [line(columns), rule, ...rows.map(line), ...notes.flatMap((note) => ['', note])];
}
