/**
 * An access log of our own making, of any length: `node bench/measure/access-log.mjs LINES FILE [CLIENTS]`. Combined format, a day of traffic, some clients
 * busier than others, lines slightly out of order as servers write them. The same every time.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const START = Date.UTC(2026, 9, 1) / 1e3;
const DAY = 86_400;
const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)',
  'curl/8.8.0',
];

export function writeAccessLog(file, lines, clients) {
  const output = openSync(file, 'w');
  const random = randomFrom(18);
  let texts = [];
  for (let line = 0; line < lines; line += 1) {
    const late = random() < 0.1 ? Math.floor(random() * 3) : 0;
    const second = START + Math.max(0, Math.floor((line / lines) * DAY) - late);
    // Every client comes at least once, where there are lines enough.
    const client = line < clients && lines >= clients * 2 ? line : Math.floor(random() ** 3 * clients);
    texts.push(lineOf(client, second, random));
    if (texts.length < 20_000) continue;
    writeSync(output, texts.join(''));
    texts = [];
  }
  writeSync(output, texts.join(''));
  closeSync(output);
}

function lineOf(client, second, random) {
  const mixed = Math.imul(client, 0x9e3779b1) >>> 0;
  const ip = `${(mixed >>> 24) % 223 || 1}.${(mixed >>> 16) & 255}.${(mixed >>> 8) & 255}.${mixed & 255}`;
  const size = Math.floor(random() * 50_000);
  const agent = AGENTS[client % AGENTS.length];
  return `${ip} - - [${timeOf(second)} +0000] "GET /items/${Math.floor(random() * 3000)}?page=${size % 9} HTTP/1.1" 200 ${size} "https://www.example.com/catalogue" "${agent}"\n`;
}

let known = { second: -1, text: '' };

function timeOf(second) {
  if (second === known.second) return known.text;
  const date = new Date(second * 1e3);
  const two = (value) => String(value).padStart(2, '0');
  const day = `${two(date.getUTCDate())}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}`;
  known = {
    second,
    text: `${day}:${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`,
  };
  return known.text;
}

function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >>> 0) / 2 ** 32;
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [lines, file, clients = '100000'] = process.argv.slice(2);
  writeAccessLog(file, Number(lines), Number(clients));
}
