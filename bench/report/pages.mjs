/**
 * What a run leaves behind. Each group has two files in results/: its tables, and a record of where they were measured and what of them is
 * worth telling everyone. The pages for readers, RESULTS.md and the numbers in README.md, are made of all records that are there, so a run of one
 * group changes its own lines and no others. A test makes them again and compares.
 *
 * A group may return, besides its tables:
 *
 *     headlines   lines of the table for readers: what, sluice, peer, of (whose), ratio (times better), means, and readme: true for the README
 *     behind      where a peer is better: who, where, ratio (below 1), why
 *     lines       whole lines of README.md: start, by which the line is found, and text
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ratio } from './format.mjs';

const RESULTS = new URL('../results/', import.meta.url);
const RESULTS_PAGE = new URL('../RESULTS.md', import.meta.url);
const README = new URL('../../README.md', import.meta.url);
const MARKS = ['<!-- bench: written by npm run bench -- --write-results -->', '<!-- /bench -->'];

export function keepGroup({ name, title, place, conditions, tables, headlines = [], behind = [], lines = [] }) {
  mkdirSync(RESULTS, { recursive: true });
  const record = { name, title, place, conditions, headlines, behind, lines };
  writeFileSync(new URL(`${name}.json`, RESULTS), `${JSON.stringify(record, null, 2)}\n`);
  writeFileSync(new URL(`${name}.md`, RESULTS), tablesPage(record, tables));
}

export function readRecords() {
  const files = readdirSync(RESULTS).filter((file) => file.endsWith('.json'));
  const records = files.map((file) => JSON.parse(readFileSync(new URL(file, RESULTS), 'utf8')));
  return records.sort((one, other) => one.place - other.place);
}

/** Returns the files that were written. */
export function writePages() {
  const pages = pagesOf(readRecords(), readFileSync(README, 'utf8'));
  return [
    [RESULTS_PAGE, pages.results],
    [README, pages.readme],
  ].map(([file, text]) => {
    writeFileSync(file, text);
    return fileURLToPath(file);
  });
}

/** The texts of both pages; of the README all that is not the bench's stays. */
export function pagesOf(records, readme) {
  return { results: resultsPage(records), readme: withNumbers(readme, records) };
}

const headlinesOf = (records) =>
  records.flatMap(({ headlines }) => headlines).sort((one, other) => one.place - other.place);

function withNumbers(readme, records) {
  const [start, end] = MARKS;
  const rows = headlinesOf(records)
    .filter((line) => line.readme)
    .map(({ what, sluice, peer, of }) => [what, sluice, `${peer} ${of}`]);
  const table = markdownTable({ columns: ['', 'Sluice', 'Compared with'], rows }, ['---', '---:', '---']);
  const [before, rest] = readme.split(`${start}\n`);
  const [, after] = (rest ?? '').split(`${end}\n`);
  if (after === undefined) throw new Error(`README.md has no ${start} with ${end} after it`);
  const written = `${before}${start}\n${table.join('\n')}\n${end}\n${after}`;
  return records.flatMap(({ lines }) => lines).reduce(withLine, written);
}

function withLine(text, { start, text: line }) {
  const lines = text.split('\n');
  const at = lines.findIndex((one) => one.startsWith(start));
  if (at < 0) throw new Error(`README.md has no line that starts with ${start}`);
  return lines.toSpliced(at, 1, line).join('\n');
}

function resultsPage(records) {
  return `# How fast Sluice is, beside what people use today

What is compared: Sluice and the packages that people use for the same today, each called as its README shows, with default
options, in one run on one machine. ${machineSentence(records)}

How: contenders take turns within each round, and each round starts with another one; every number is the median of the rounds,
and every "times" the median of the ratios within each round, so that a slow minute of the machine falls on both sides. CPU is
what the process (or Redis itself) has used, so that other programs do not count. Keys are made anew for each check. In memory each
contender is measured twice: in a process of its own, and in one where all algorithms and several peers are warm, as in a
real server; the table has the second. Nobody's answers are awaited twice, and no peer has a promise around it that its users do not have.
Absolute numbers are this machine's; the ratios travel better.

Sluice's policy in this table is \`slidingWindowCounter\`, which the README recommends; the peers have fixed windows, which are less work. All
algorithms are in the tables further down.

${markdownTable(headlineTable(records), ['---', '---:', '---:', '---:', '---']).join('\n')}

"Times better" is how many times less it takes, or how many times more it does: below 1 the peer is better.

## Where a peer is better, and why

${behindText(records)}

## All tables

${records.map(({ name, title, conditions }) => `- [${title}](results/${name}.md), measured on ${conditions.date} at ${conditions.commit}${conditions.mode === 'quick' ? ' in a quick run, good for a look only' : ''}`).join('\n')}

## Measure it yourself

    npm ci
    npm run bench -- --write-results    # everything, and these pages
    npm run bench -- --help             # a part of it, a quick look, or beside another commit

Versions: ${versionsOf(records)}.

Written by \`npm run bench -- --write-results\`; do not edit.
`;
}

/** By reason, the largest lag first. */
function behindText(records) {
  const all = records.flatMap(({ behind }) => behind).sort((one, other) => one.ratio - other.ratio);
  if (all.length === 0) return 'In none of the tables of this run.';
  const kinds = new Map(all.map(({ who, why }) => [`${who} ${why}`, { who, why }]));
  return [...kinds.values()]
    .map(({ who, why }) => {
      const places = all.filter((one) => one.who === who && one.why === why);
      return `- **${who}**: ${why}.\n${places.map(({ where, ratio: part }) => `  - ${where}: ${ratio(part)}`).join('\n')}`;
    })
    .join('\n');
}

function headlineTable(records) {
  return {
    columns: ['', 'Sluice', 'The other', 'Times better', 'What it means'],
    rows: headlinesOf(records).map((line) => [
      ...[line.what, line.sluice, `${line.peer} ${line.of}`, ratio(line.ratio), line.means],
    ]),
  };
}

function machineSentence(records) {
  const kinds = new Set(
    records.map(({ conditions: { machine } }) =>
      [machine.cpu, `${machine.cores} cores`, `${machine.memoryGb} GB`, machine.system, `Node ${machine.node}`].join(
        ', ',
      ),
    ),
  );
  return `The machine: ${[...kinds].join('; and ')}, with Redis on the same machine, over TCP to 127.0.0.1, nothing saved to disk.`;
}

function versionsOf(records) {
  const versions = Object.assign({}, ...records.map(({ conditions }) => conditions.versions));
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

function tablesPage({ title, conditions }, tables) {
  const { date, mode, command, commit, seconds, machine, loadAverage } = conditions;
  const parts = tables.flatMap((table) => [`## ${table.title}`, '', ...markdownTable(table), '']);
  return `# ${title}

Part of [how fast Sluice is](../RESULTS.md), which says how it is measured.

Measured on ${date} at commit ${commit}, a ${mode} run of ${seconds} s by \`${command}\`; ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, load average ${loadAverage} before.

${parts.join('\n').trimEnd()}
`;
}

function markdownTable({ columns, rows, notes = [] }, alignment) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`.replace('|  |', '| |');
  const rule = `|${columns.map((_, i) => alignment?.[i] ?? (i === 0 ? '---' : '---:')).join('|')}|`;
  return [line(columns), rule, ...rows.map(line), ...notes.flatMap((note) => ['', note])];
}
