/** The algorithms as tutorials write them, and as tutorials call them: a plain EVAL that sends the script each time. */
import { TEXTBOOK } from '../textbook/scripts.mjs';
import { CLIENTS } from './clients.mjs';
import { DAY_MS } from './policies.mjs';

const WINDOWED = new Set(['fixed-window', 'sliding-window-log', 'sliding-window-counter']);

export function textbookContender(name) {
  return {
    name: `textbook ${name}`,
    kind: 'textbook',
    textbook: name,
    open({ client, connection, limit, windowMs = DAY_MS, cost = 1 }) {
      const third = WINDOWED.has(name) ? windowMs : limit / (windowMs / 1000);
      const args = [cost, limit, third].map(String);
      const script = TEXTBOOK[name];
      const run = CLIENTS[client].eval;
      return (key) => run(connection, script, `rl:${name}:${key}`, args);
    },
  };
}

export const textbookContenders = Object.keys(TEXTBOOK).map(textbookContender);
