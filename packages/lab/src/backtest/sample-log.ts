/**
 * A log of our own making: an hour of a shop, with people who click, a crawler, somebody who guesses passwords, and a client that tries again and
 * again. The same every time.
 */
import { randomFrom } from '../traffic/random.ts';

const START = Date.UTC(2026, 4, 12, 9);
const SECONDS = 3600;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

interface Visit {
  readonly second: number;
  readonly ip: string;
  readonly request: string;
  readonly agent: string;
}

export function sampleLog(): Blob {
  const random = randomFrom(18);
  const visits = [...people(random), ...crawler(), ...guesser(random), ...retrier()];
  const hour = visits.filter(({ second }) => second < SECONDS).sort((one, other) => one.second - other.second);
  return new Blob([hour.map(lineOf).join('\n'), '\n'], { type: 'text/plain' });
}

/** Somebody opens a page, and with it come its pictures. */
function people(random: () => number): Visit[] {
  return Array.from({ length: 700 }, (_, person): Visit[] => {
    const ip = `203.0.${113 + (person >> 8)}.${person & 255}`;
    const begins = random() * SECONDS;
    const pages = 1 + Math.floor(random() ** 2 * 12);
    return Array.from({ length: pages }, (_, page): Visit[] => {
      const second = begins + page * (4 + random() * 40);
      const article = Math.floor(random() ** 2 * 60);
      const pictures = Math.floor(random() * 7);
      const paths = [
        `/products/${article}`,
        ...Array.from({ length: pictures }, (_, each) => `/images/${article}-${each}.webp`),
      ];
      return paths.map((path) => ({
        second: second + random(),
        ip,
        request: `GET ${path}`,
        agent: 'Mozilla/5.0 (X11; Linux x86_64)',
      }));
    }).flat();
  }).flat();
}

function crawler(): Visit[] {
  return Array.from({ length: 1800 }, (_, index) => ({
    second: index * 2,
    ip: '198.51.100.20',
    request: `GET /products/${index % 600}`,
    agent: 'ExampleBot/1.0',
  }));
}

function guesser(random: () => number): Visit[] {
  return Array.from({ length: 900 }, (_, index) => ({
    second: 1500 + index * 0.4 + random(),
    ip: '192.0.2.66',
    request: 'POST /login',
    agent: 'python-requests/2.31',
  }));
}

/** Every half minute, thirty requests within a second. */
function retrier(): Visit[] {
  return Array.from({ length: 60 * 30 }, (_, index) => ({
    second: 1800 + Math.floor(index / 30) * 30,
    ip: '198.51.100.77',
    request: 'GET /api/stock',
    agent: 'shop-sync/3',
  }));
}

function lineOf({ second, ip, request, agent }: Visit): string {
  const date = new Date(START + second * 1e3);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${two(date.getUTCDate())}/${MONTHS[date.getUTCMonth()]}/${date.getUTCFullYear()}`;
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
  return `${ip} - - [${day}:${time} +0000] "${request} HTTP/1.1" 200 1234 "-" "${agent}"`;
}
