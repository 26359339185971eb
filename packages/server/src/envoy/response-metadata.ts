/** The dynamic metadata of an answer: what was asked, and what the rules that passed have to say. */
import type { Metadata } from './domain.ts';
import type { Descriptor, RateLimitRequest } from './request.ts';

export function requestMetadata(
  { domain, descriptors, hitsAddend }: RateLimitRequest,
  passed: readonly Metadata[],
): Metadata {
  return {
    domain,
    descriptors: descriptors.map(described),
    ...(hitsAddend === 0 ? {} : { hitsAddend }),
    ...(passed.length === 0 ? {} : { metadata: passed.reduce(merged) }),
  };
}

function described({ entries, limit, hitsAddend }: Descriptor): Metadata {
  return {
    entries: entries.map(({ key, value }) => `${key}=${value}`),
    ...(limit === undefined ? {} : { limit: `requests_per_unit:${limit.requestsPerUnit} unit:${limit.unit}` }),
    ...(hitsAddend === undefined ? {} : { hitsAddend }),
  };
}

/** Maps are merged in depth; of anything else the later one is taken. */
function merged(one: Metadata, other: Metadata): Metadata {
  const both = Object.entries(other).map(([key, value]): [string, unknown] => {
    const known = Object.hasOwn(one, key) ? one[key] : undefined;
    return [key, isMap(known) && isMap(value) ? merged(known, value) : value];
  });
  return { ...one, ...Object.fromEntries(both) };
}

function isMap(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
