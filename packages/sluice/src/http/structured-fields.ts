/**
 * As much of Structured Fields (RFC 9651) as rate limit headers need: a list of items with parameters. Text that is not
 * one gives undefined as a whole, as the RFC wants it.
 */

export type BareItem = string | number;

export interface Item {
  readonly value: BareItem;
  readonly parameters: ReadonlyMap<string, BareItem>;
}

/** A number; or a string; or a token, bytes, a boolean, a date or a display string, which stay as they are written. */
const BARE_ITEM = new RegExp(
  [
    /(-?(?:\d{1,12}\.\d{1,3}|\d{1,15}))/,
    /"((?:[ !#-[\]-~]|\\["\\])*)"/,
    /([A-Za-z*][\w!#$%&'*+.^`|~:/-]*|:[A-Za-z\d+/=]*:|\?[01]|@-?\d{1,15}|%"(?:[ !#$&-~]|%[\da-f]{2})*")/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'y',
);
const PARAMETER = /; *([a-z*][a-z\d_.*-]*)(=)?/y;
const COMMA = /[ \t]*,[ \t]*/y;

type Take = (pattern: RegExp) => RegExpExecArray | null;

export function parseList(text: string): readonly Item[] | undefined {
  const whole = text.trim();
  const items: Item[] = [];
  let at = 0;
  const take: Take = (pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(whole);
    at += match?.[0].length ?? 0;
    return match;
  };
  do {
    const item = takeItem(take);
    if (item === undefined) return undefined;
    items.push(item);
  } while (take(COMMA) !== null);
  return at === whole.length ? items : undefined;
}

function takeItem(take: Take): Item | undefined {
  const value = takeBareItem(take);
  if (value === undefined) return undefined;
  const parameters = new Map<string, BareItem>();
  for (let parameter = take(PARAMETER); parameter !== null; parameter = take(PARAMETER)) {
    const given = parameter[2] === undefined ? '?1' : takeBareItem(take);
    if (given === undefined) return undefined;
    parameters.set(parameter[1]!, given);
  }
  return { value, parameters };
}

function takeBareItem(take: Take): BareItem | undefined {
  const [, number, string, other] = take(BARE_ITEM) ?? [];
  if (number !== undefined) return Number(number);
  return string === undefined ? other : string.replace(/\\(.)/g, '$1');
}
