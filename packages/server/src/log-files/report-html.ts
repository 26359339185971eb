/** A report as one page: everything in it, nothing fetched, charts that say their numbers under the pointer. */
import type { PolicyReport } from '../backtest/report.ts';
import { exactTime } from '../files/time-text.ts';
import type { BacktestReport } from './backtest.ts';

const WIDTH = 960;
const HEIGHT = 160;

/** A report as one page of HTML: it opens without a network, and fetches nothing. */
export function reportHtml(report: BacktestReport): string {
  const title = `Backtest of ${report.logs.map(({ file }) => file).join(', ')}`;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${text(title)}</title><style>${STYLE}</style></head><body>
<h1>${text(title)}</h1>
${summary(report)}
${report.policies.map((policy) => section(policy, report)).join('\n')}
${badLines(report)}
<div id="tip" role="status" hidden></div>
<script>${SCRIPT}</script></body></html>
`;
}

/** What a log holds is whatever clients sent. */
function text(value: string | number): string {
  const plain = typeof value === 'number' ? value.toLocaleString('en-US') : value;
  return plain.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

const percent = (share: number): string => `${Number((share * 100).toPrecision(3))} %`;
const moment = (seconds: number): string => new Date(seconds * 1e3).toISOString().slice(0, 19).replace('T', ' ');

function summary(report: BacktestReport): string {
  const { requests, clients, from, to, lines, peakSecond, peakMinute } = report;
  const period = from === undefined || to === undefined ? 'No requests.' : `${moment(from)} to ${moment(to)} UTC.`;
  const late = lines.late > 0 ? ` ${text(lines.late)} lines came too late to be sorted.` : '';
  const whole = report.isWholeSeconds
    ? ' Times are whole seconds: requests of one second are decided at its beginning.'
    : '';
  const rows = report.policies.map((policy) => [
    text(policy.name),
    text(policy.allowed),
    `${text(policy.denied)} (${percent(policy.deniedShare)})`,
    text(policy.delayed),
    `${text(policy.clientsDenied)} (${percent(policy.clientsDeniedShare)})`,
    text(policy.peakSecond.units),
    text(policy.peakMinute.units),
  ]);
  const notes = report.notes.map((note) => `<p>${text(note)}</p>`).join('');
  return `${notes}<p>${text(requests)} requests from ${text(clients)} clients. ${period} ${text(lines.lines)} lines, ${text(lines.bad)} of them not readable.${late}${whole}
${report.isInterrupted ? '<strong>The reading was interrupted.</strong>' : ''}</p>
${table(
  ['policy', 'allowed', 'denied', 'delayed', 'clients denied', 'peak a second', 'peak a minute'],
  [
    ['what came', text(requests), '', '', `of ${text(clients)}`, text(peakSecond.units), text(peakMinute.units)],
    ...rows,
  ],
)}`;
}

function section(policy: PolicyReport, report: BacktestReport): string {
  const clients = policy.mostDenied.map(({ key, denied, requests }) => [text(key), text(denied), text(requests)]);
  const routes = policy.routes.map(({ route, denied, requests }) => [text(route), text(denied), text(requests)]);
  const { bounds } = policy;
  const told =
    typeof bounds === 'object'
      ? `<p>With true times instead of whole seconds it denies ${between(bounds.denied)} requests and ${between(bounds.clientsDenied)} of the clients.</p>`
      : '';
  return `<section><h2>${text(policy.name)}</h2>${told}
${chart(report, policy)}
<div class="pair">${clients.length === 0 ? '<p>Nobody is denied.</p>' : table(['most denied clients', 'denied', 'of'], clients)}
${routes.length === 0 ? '' : table(['most denied paths', 'denied', 'of'], routes)}</div></section>`;
}

function between([least, most]: readonly [number, number]): string {
  return least === most ? text(least) : `${text(least)} to ${text(most)}`;
}

/** Bars of what came, and of what is allowed before them. */
function chart({ course }: BacktestReport, policy: PolicyReport): string {
  const { came, start, step } = course;
  const most = Math.max(1, ...came);
  const width = WIDTH / Math.max(1, came.length);
  const bar = (value: number, index: number, kind: string): string => {
    const height = (value / most) * HEIGHT;
    return value === 0
      ? ''
      : `<rect class="${kind}" x="${(index * width).toFixed(2)}" y="${(HEIGHT - height).toFixed(2)}" width="${Math.max(0.5, width - 0.3).toFixed(2)}" height="${height.toFixed(2)}"/>`;
  };
  const data = JSON.stringify({ start, step, came, allowed: policy.course });
  const end = start + Math.max(0, came.length - 1) * step;
  return `<figure><figcaption><span class="key allowed-key"></span>allowed <span class="key came-key"></span>denied. A bar is ${text(exactTime(step * 1e3))}, the highest ${text(most)}.</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Course over time" data-course="${text(data)}">
${came.map((value, index) => bar(value, index, 'came')).join('')}${policy.course.map((value, index) => bar(value, index, 'allowed')).join('')}
<rect class="pick" x="0" y="0" width="${width.toFixed(2)}" height="${HEIGHT}" visibility="hidden"/></svg>
<div class="ends"><span>${came.length === 0 ? '' : moment(start)}</span><span>${came.length === 0 ? '' : moment(end)} UTC</span></div></figure>`;
}

function badLines({ badLines: bad }: BacktestReport): string {
  if (bad.length === 0) return '';
  const rows = bad.map(({ file, line, reason, text: shown }) => [
    text(`${file}:${line}`),
    text(reason),
    `<code>${text(shown)}</code>`,
  ]);
  return `<section class="bad"><h2>Lines that could not be read</h2>${table(['where', 'why', 'line'], rows)}</section>`;
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th>${text(title)}</th>`).join('');
  const body = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('');
  return `<table><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

const STYLE = `:root{color-scheme:light dark;--ink:#1c2330;--paper:#fff;--line:#d8dde6;--came:#e08a5a;--allowed:#2866d6}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf2;--paper:#12161d;--line:#313a48;--came:#a65a2e;--allowed:#6ea0ff}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{border-bottom:1px solid var(--line);padding:.25rem .5rem;text-align:right;font-variant-numeric:tabular-nums}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere}td:not(:first-child){white-space:nowrap}.bad td,.bad th{white-space:normal;text-align:left;overflow-wrap:anywhere}svg{width:100%;height:${HEIGHT}px;border-bottom:1px solid var(--line)}
.came{fill:var(--came)}.allowed{fill:var(--allowed)}.pick{fill:none;stroke:var(--ink)}figure{margin:1rem 0}figcaption{font-size:.85rem}
.ends{display:flex;justify-content:space-between;font-size:.85rem}.key{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 .8em}.allowed-key{background:var(--allowed);margin-left:0}.came-key{background:var(--came)}
.pair{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));align-items:start}
#tip{position:fixed;background:var(--ink);color:var(--paper);padding:.2rem .5rem;border-radius:4px;font-size:.85rem;pointer-events:none}`;

const SCRIPT = `const tip=document.getElementById('tip');
for(const svg of document.querySelectorAll('svg[data-course]')){const data=JSON.parse(svg.dataset.course),pick=svg.querySelector('.pick');
svg.addEventListener('pointermove',(event)=>{const box=svg.getBoundingClientRect();
const index=Math.min(data.came.length-1,Math.max(0,Math.floor((event.clientX-box.left)/box.width*data.came.length)));
pick.setAttribute('x',index*${WIDTH}/data.came.length);pick.setAttribute('visibility','visible');
const came=data.came[index]||0,allowed=data.allowed[index]||0;
tip.textContent=new Date((data.start+index*data.step)*1000).toISOString().slice(0,19).replace('T',' ')+' UTC: '+came.toLocaleString('en-US')+' came, '+allowed.toLocaleString('en-US')+' allowed';
tip.hidden=false;tip.style.left=Math.min(event.clientX+12,innerWidth-tip.offsetWidth-8)+'px';tip.style.top=event.clientY+14+'px'});
svg.addEventListener('pointerleave',()=>{tip.hidden=true;pick.setAttribute('visibility','hidden')})}`;
