/** Charts as inline SVG: bars with their spread, and lines. No script, no style sheet, no font of its own. */
import { count } from './format.mjs';

const COLOURS = { sluice: '#0b7285', peer: '#e8590c', textbook: '#868e96', floor: '#adb5bd' };
const SERIES = ['#0b7285', '#e8590c', '#5f3dc4', '#2b8a3e', '#c2255c', '#868e96', '#1864ab'];
const WIDTH = 760;
const LABEL_WIDTH = 270;
const BAR_HEIGHT = 16;
const ROW_HEIGHT = 22;

export const escapeHtml = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);

export function svgChart(chart) {
  return chart.type === 'bars' ? barChart(chart) : lineChart(chart);
}

const tick = (value) => (value >= 100 ? count(value) : String(Number(value.toPrecision(3))));

const open = (height, title) =>
  `<svg viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" role="img" font-family="system-ui,sans-serif" font-size="12"><title>${escapeHtml(title)}</title>`;

const text = (x, y, content, anchor = 'start') =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="currentColor">${escapeHtml(content)}</text>`;

function barChart({ title, bars }) {
  const largest = Math.max(...bars.map(({ median, max = median }) => max));
  const x = (value) => LABEL_WIDTH + (value / largest) * (WIDTH - LABEL_WIDTH - 90);
  const rows = bars.map(({ label, kind, median, min, max }, index) => {
    const y = index * ROW_HEIGHT + 4;
    const middle = y + BAR_HEIGHT / 2;
    const spread =
      min === undefined
        ? ''
        : `<line x1="${x(min).toFixed(1)}" x2="${x(max).toFixed(1)}" y1="${middle}" y2="${middle}" stroke="currentColor" stroke-width="1.5"/>`;
    return [
      text(LABEL_WIDTH - 8, middle + 4, label, 'end'),
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${Math.max(1, x(median) - LABEL_WIDTH).toFixed(1)}" height="${BAR_HEIGHT}" fill="${COLOURS[kind]}"/>`,
      spread,
      text(x(max ?? median) + 6, middle + 4, tick(median)),
    ].join('');
  });
  return `${open(bars.length * ROW_HEIGHT + 8, title)}${rows.join('')}</svg>`;
}

function lineChart({ title, series, xLabel, yLabel, logX = true }) {
  const height = 300;
  const [left, right, top, bottom] = [70, WIDTH - 200, 12, height - 40];
  const points = series.flatMap((one) => one.points);
  const scale = logX ? Math.log10 : (value) => value;
  const [first, last] = [Math.min, Math.max].map((pick) => pick(...points.map(({ x }) => scale(x))));
  const highest = Math.max(...points.map(({ y }) => y)) * 1.05;
  const px = (value) => left + ((scale(value) - first) / (last - first || 1)) * (right - left);
  const py = (value) => bottom - (value / highest) * (bottom - top);
  const xs = [...new Set(points.map(({ x }) => x))].sort((a, b) => a - b);
  const axes = [
    `<path d="M${left} ${top}V${bottom}H${right}" fill="none" stroke="currentColor"/>`,
    ...xs.map((value) => text(px(value), bottom + 16, tick(value), 'middle')),
    ...[0, 0.5, 1].map((part) => text(left - 6, py(highest * part) + 4, tick(highest * part), 'end')),
    text((left + right) / 2, bottom + 34, xLabel, 'middle'),
    text(left + 4, top + 8, yLabel),
  ];
  const lines = series.map(({ label, points: own }, index) => {
    const colour = SERIES[index % SERIES.length];
    const path = own.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join('');
    const dots = own.map(
      ({ x, y }) => `<circle cx="${px(x).toFixed(1)}" cy="${py(y).toFixed(1)}" r="3" fill="${colour}"/>`,
    );
    const legendY = top + 10 + index * 18;
    return [
      `<path d="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...dots,
      `<rect x="${right + 14}" y="${legendY - 9}" width="10" height="10" fill="${colour}"/>`,
      text(right + 30, legendY, label),
    ].join('');
  });
  return `${open(height, title)}${axes.join('')}${lines.join('')}</svg>`;
}
