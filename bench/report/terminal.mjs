/** Results as text tables. */
import { reachTable } from './reach.mjs';

export function terminalReport({ scenarios, reach }) {
  const parts = scenarios.flatMap(({ title, tables }) => [heading(title), ...tables.map(textTable)]);
  return [...parts, heading('Reach'), textTable(reachTable(reach))].join('\n');
}

const heading = (text) => `\n${text}\n${'='.repeat(text.length)}`;

function textTable({ title, columns, rows, notes = [] }) {
  if (rows.some((row) => row.length !== columns.length))
    throw new Error(`a row of "${title}" does not fit its columns`);
  const widths = columns.map((column, i) => Math.max(column.length, ...rows.map((row) => row[i].length)));
  const isText = columns.map((_, i) => rows.some((row) => /^[a-z(@]/i.test(row[i])));
  const line = (cells) =>
    cells.map((cell, i) => (isText[i] ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return ['', title, line(columns), rule, ...rows.map(line), ...notes.map((note) => `  ${note}`)]
    .map((text) => text.trimEnd())
    .join('\n');
}
