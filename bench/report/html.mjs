/** One HTML file that needs nothing else. */
import { escapeHtml, svgChart } from './charts.mjs';
import { conditionLines } from './conditions.mjs';
import { reachTable } from './reach.mjs';

const STYLE = `
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 13px; margin: .5rem 0 1.5rem; }
.wide { overflow-x: auto; }
th, td { padding: .2rem .6rem; border-bottom: 1px solid #8884; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.yes { color: #2b8a3e; } .no { color: #c92a2a; font-weight: bold; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; } svg { max-width: 100%; height: auto; }
.note { color: #868e96; font-size: 13px; }`;

export function htmlReport(run) {
  const { scenarios, reach } = run;
  const sections = scenarios.map(
    ({ title, tables, charts }) =>
      `<section><h2>${escapeHtml(title)}</h2>${charts.map(figure).join('')}<details><summary>All numbers</summary>${tables.map(htmlTable).join('')}</details></section>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sluice bench</title><style>${STYLE}</style></head>
<body><h1>Sluice beside what people use today</h1>
<ul>${conditionLines(run)
    .map((line) => `<li>${escapeHtml(line)}</li>`)
    .join('')}</ul>
<h2>Reach</h2>${htmlTable(reachTable(reach))}
${sections.join('\n')}
</body></html>
`;
}

const figure = (chart) => `<figure><figcaption>${escapeHtml(chart.title)}</figcaption>${svgChart(chart)}</figure>`;

function htmlTable({ title, columns, rows, notes = [] }) {
  const cells = (row, tag) =>
    `<tr>${row.map((cell) => `<${tag}${mark(cell)}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`;
  return `<h3>${escapeHtml(title)}</h3><div class="wide"><table>${cells(columns, 'th')}${rows.map((row) => cells(row, 'td')).join('')}</table></div>${notes
    .map((note) => `<p class="note">${escapeHtml(note)}</p>`)
    .join('')}`;
}

const mark = (cell) => (cell === 'yes' ? ' class="yes"' : cell === 'NO' ? ' class="no"' : '');
