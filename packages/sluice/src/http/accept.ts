/** Which of a few media types a client would rather have (RFC 9110, section 12.5.1), and no more of negotiation than that. */

interface Range {
  readonly type: string;
  readonly quality: number;
}

/** How closely a range names a type. */
const SPECIFICITY = { exact: 3, subtype: 2, any: 1, none: 0 } as const;

/**
 * The one with the highest quality; among equals the one that is named more closely, then the first. The first too when none is
 * acceptable: a client that is denied is better off with a body it did not ask for than with none.
 */
export function preferred<Type extends string>(accept: string | undefined, types: readonly [Type, ...Type[]]): Type {
  if (accept === undefined || accept === '*/*') return types[0];
  const ranges = accept.split(',', MAX_RANGES).map(parseRange);
  const rated = types.map((type) => ({ type, ...ratingOf(type, ranges) }));
  return rated.reduce((best, next) => (isBetter(next, best) ? next : best)).type;
}

/** More than any client sends; a header full of commas must not keep us busy. */
const MAX_RANGES = 32;

interface Rating {
  readonly quality: number;
  readonly specificity: number;
}

/** Of two that are not wanted neither is, however closely it was named. */
function isBetter(one: Rating, other: Rating): boolean {
  if (one.quality !== other.quality) return one.quality > other.quality;
  return one.quality > 0 && one.specificity > other.specificity;
}

/** The closest range decides, also when it says 0. */
function ratingOf(type: string, ranges: readonly Range[]): Rating {
  let rating: Rating = { quality: 0, specificity: SPECIFICITY.none };
  for (const range of ranges) {
    const specificity = specificityOf(range.type, type);
    if (specificity > rating.specificity) rating = { quality: range.quality, specificity };
  }
  return rating;
}

function specificityOf(range: string, type: string): number {
  if (range === type) return SPECIFICITY.exact;
  if (range === '*/*') return SPECIFICITY.any;
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1)) ? SPECIFICITY.subtype : SPECIFICITY.none;
}

/** `application/json;q=0.8`. A quality that is none counts as 0: whoever cannot say it cannot have meant "most of all". */
function parseRange(text: string): Range {
  const [type = '', ...parameters] = text.toLowerCase().split(';');
  const quality = parameters.map((parameter) => /^\s*q=(.*?)\s*$/.exec(parameter)?.[1]).find((q) => q !== undefined);
  return { type: type.trim(), quality: quality === undefined ? 1 : qualityOf(quality) };
}

function qualityOf(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}
