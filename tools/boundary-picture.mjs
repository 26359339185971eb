/**
 * Writes docs/images/boundary.svg, the moving picture of the README: a client that sends a whole limit just before the edge of a window and another just
 * after. The story is the lab's, the answers are the library's own, on a clock that stands still. `npm run build` comes first.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  createLimiter,
  fixedWindow,
  manualClock,
  memoryStore,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from 'sluice';
import { runnerImport } from 'vite';
import { workspaceFolder } from './steps.mjs';

export const FILE = join(workspaceFolder, 'docs/images/boundary.svg');

const LIMIT = { units: 10, window: 10_000, burst: 10 };
const ROWS = [
  ['Fixed window', fixedWindow({ limit: 10, window: '10s' })],
  ['Sliding counter', slidingWindowCounter({ limit: 10, window: '10s' })],
  ['Sliding log', slidingWindowLog({ limit: 10, window: '10s' })],
  ['Token bucket', tokenBucket({ capacity: 10, refillRate: 1 })],
];

/** What is seen of time, in milliseconds of the story, and how long that takes to watch. */
const [FROM, TO, SECONDS] = [9_350, 10_450, 9];
/** Where the answer is held, as a part of the loop. */
const PLAYED = 0.72;
const [WIDTH, LEFT, RIGHT, TOP, ROW] = [720, 130, 84, 58, 46];

/** Every request of the story with what each row answers. */
export async function answers() {
  const { boundaryBurst } = (
    await runnerImport(join(workspaceFolder, 'packages/lab/src/model/stories/boundary-burst.ts'))
  ).module;
  const { script } = boundaryBurst.make(LIMIT);
  return Promise.all(
    ROWS.map(async ([name, policy]) => {
      const clock = manualClock(0);
      const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
      const marks = [];
      for (const { at } of script) {
        clock.advance(at - clock.now());
        marks.push({ at, allowed: (await limiter.attempt('client')).allowed });
      }
      return { name, marks };
    }),
  );
}

const xOf = (at) => LEFT + ((at - FROM) / (TO - FROM)) * (WIDTH - LEFT - RIGHT);
const partOf = (at) => ((at - FROM) / (TO - FROM)) * PLAYED * 100;
const percent = (part) => `${part.toFixed(2)}%`;

export function pictureOf(rows) {
  const height = TOP + rows.length * ROW + 34;
  const times = [...new Set(rows.flatMap(({ marks }) => marks.map(({ at }) => at)))];
  const frames = times.map(
    (at, index) =>
      `@keyframes m${index}{0%,${percent(partOf(at))}{opacity:0}${percent(partOf(at) + 0.3)},100%{opacity:1}}`,
  );
  const body = rows.map((row, index) => rowOf(row, index, times));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>A limit of 10 in 10 seconds, and 20 requests around the edge of a window: the fixed window allows all of them.</title>
<style>${STYLE}${frames.join('')}${body.map(({ css }) => css).join('')}
@keyframes play{0%{transform:translateX(${xOf(FROM)}px)}${percent(PLAYED * 100)},100%{transform:translateX(${xOf(TO)}px)}}
@media (prefers-reduced-motion: reduce){.mark,.now,.count{animation:none}.count{opacity:0}.count.last{opacity:1}}</style>
<rect class="paper" width="${WIDTH}" height="${height}" rx="8"/>
<text class="title" x="16" y="24">10 requests in 10 seconds, and a client that sends 10 + 10 around the edge of a window</text>
<line class="edge" x1="${xOf(10_000)}" x2="${xOf(10_000)}" y1="${TOP - 14}" y2="${height - 30}"/><text class="small" x="${xOf(10_000)}" y="${TOP - 18}" text-anchor="middle">a new window</text>
${body.map(({ svg }) => svg).join('\n')}
<line class="now" x1="0" x2="0" y1="${TOP - 10}" y2="${height - 30}"/>
<text class="small" x="16" y="${height - 10}">● allowed</text><text class="small denied" x="90" y="${height - 10}">✕ denied</text><text class="small" x="${WIDTH - 16}" y="${height - 10}" text-anchor="end">one second of traffic, slowed down</text>
</svg>
`;
}

function rowOf({ name, marks }, index, times) {
  const y = TOP + index * ROW + ROW / 2;
  const svg = [
    `<text class="name" x="16" y="${y + 4}">${name}</text><line class="lane" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y}" y2="${y}"/>`,
  ];
  for (const { at, allowed } of marks) {
    const [x, style] = [xOf(at).toFixed(1), `animation-name:m${times.indexOf(at)}`];
    if (allowed) svg.push(`<circle class="mark" style="${style}" cx="${x}" cy="${y}" r="4.5"/>`);
    else svg.push(`<path class="mark cross" style="${style}" d="M${x - 4},${y - 4}l8,8m0,-8l-8,8"/>`);
  }
  const counts = countsOf(marks);
  const css = counts.map(({ from, to }, at) => countFrames(`c${index}-${at}`, from, to));
  counts.forEach(({ count }, at) => {
    const isLast = at === counts.length - 1;
    const over = count > LIMIT.units ? ' over' : '';
    const style = `animation-name:c${index}-${at}`;
    svg.push(
      `<text class="count${isLast ? ' last' : ''}${over}" style="${style}" x="${WIDTH - 16}" y="${y + 7}" text-anchor="end">${count}</text>`,
    );
  });
  return { svg: svg.join(''), css: css.join('') };
}

/** From when to when a row has allowed how many. */
function countsOf(marks) {
  const allowed = marks.filter((mark) => mark.allowed).map(({ at }) => at);
  return [FROM, ...allowed].map((from, count) => ({ count, from, to: allowed[count] }));
}

function countFrames(name, from, to) {
  const [start, end] = [partOf(from), to === undefined ? 100 : partOf(to)];
  const before = start <= 0 ? '' : `0%,${percent(start)}{opacity:0}`;
  const after = to === undefined ? '' : `${percent(end + 0.02)},100%{opacity:0}`;
  return `@keyframes ${name}{${before}${percent(start + 0.02)},${percent(end)}{opacity:1}${after}}`;
}

const STYLE = `
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#1f2430}.title,.name{font-weight:600}.small{font-size:12px;fill:#5b6472}
.paper{fill:#fff;stroke:#d8dde6}.lane{stroke:#d8dde6}.edge{stroke:#5b6472;stroke-dasharray:3 4}.now{stroke:#1f2430;stroke-width:1.5}
circle{fill:#1463c7}.cross{stroke:#c02f1d;stroke-width:2.2;fill:none}.small.denied{fill:#c02f1d}
.count{font-size:22px;font-weight:700}.over{fill:#c02f1d}
.mark,.count{opacity:0;animation:${SECONDS}s linear infinite}.now{animation:play ${SECONDS}s linear infinite}
@media (prefers-color-scheme: dark){text{fill:#e8ecf3}.small{fill:#a4adbb}.paper{fill:#12161d;stroke:#333b48}.lane{stroke:#333b48}.edge{stroke:#a4adbb}.now{stroke:#e8ecf3}circle{fill:#6aaeff}.cross{stroke:#ff8a75}.over,.small.denied{fill:#ff8a75}}
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(FILE, pictureOf(await answers()));
