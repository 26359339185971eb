/** Results as text tables. */
export function terminalReport({ name, title, tables, reach = [], conditions }) {
  const head = `${title} (${name}, ${conditions.mode}, ${conditions.seconds} s)`;
  return [heading(head), ...tables.map(textTable), ...(reach.length === 0 ? [] : [textTable(reachTable(reach))])].join(
    '\n',
  );
}

const heading = (text) => `\n${text}\n${'='.repeat(text.length)}`;

function reachTable(reach) {
  return {
    title: 'What the authors hold it to',
    columns: ['', 'want', 'worst', '', 'each'],
    rows: reach.map(({ what, want, got, met, each = '' }) => [what, want, got, met ? 'yes' : 'NO', each]),
  };
}

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
