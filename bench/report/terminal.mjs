/** Results as text tables. */
export function terminalReport({ name, title, tables, reach = [], conditions }) {
  const head = `${title} (${name}, ${conditions.mode}, ${conditions.seconds} s)`;
  return [heading(head), ...tables.map(textTable), ...(reach.length === 0 ? [] : [textTable(reachTable(reach))])].join(
    '\n',
  );
}

/** A row that takes more than at the other commit, by more than noise. */
const SLOWER = 0.95;

/** All rows that were measured at another commit too: how many take more than there, and which. */
export function besideReport(results, commit) {
  const rows = results.flatMap(({ beside = [] }) => beside).sort(([, one], [, other]) => one - other);
  const slower = rows.filter(([, times]) => times < SLOWER);
  const middle = rows[rows.length >> 1]?.[1] ?? Number.NaN;
  const text = (times) => `${times.toFixed(2)}x`;
  const table = {
    title: `${slower.length} of ${rows.length} rows take more than at ${commit} (below ${SLOWER}); the middle one takes ${text(middle)} less. The twenty worst:`,
    columns: ['', 'times less than there'],
    rows: rows.slice(0, 20).map(([what, times]) => [what, text(times)]),
  };
  return `${heading(`Beside ${commit}`)}\n${textTable(table)}`;
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
