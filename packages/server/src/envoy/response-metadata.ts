/** The dynamic metadata of an answer: what was asked, and what the rules that passed have to say. */
import type { Metadata } from './domain.ts';
import type { Descriptor, LimitOverride, RateLimitRequest } from './request.ts';

export function requestMetadata(
  { domain, descriptors, hitsAddend }: RateLimitRequest,
  passed: readonly Metadata[],
): Metadata {
  const metadata = passed.reduce(merged, {});
  return {
    domain,
    descriptors: descriptors.map(described),
    ...(hitsAddend === 0 ? {} : { hitsAddend }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}

function described({ entries, limit, hitsAddend }: Descriptor): Metadata {
  return {
    entries: entries.map(({ key, value }) => `${key}=${value}`),
    ...(limit === undefined ? {} : { limit: limitText(limit) }),
    ...(hitsAddend === undefined ? {} : { hitsAddend }),
  };
}

/** As protobuf writes a message as text: what is zero is left out. */
function limitText({ requestsPerUnit, unit }: LimitOverride): string {
  return [...(requestsPerUnit === 0 ? [] : [`requests_per_unit:${requestsPerUnit}`]), `unit:${unit}`].join(' ');
}

/** Maps are merged in depth; of anything else the first one stays, as with the reference server. */
function merged(one: Metadata, other: Metadata): Metadata {
  const both = Object.entries(other).map(([key, value]): [string, unknown] => {
    if (!Object.hasOwn(one, key)) return [key, value];
    const known = one[key];
    return [key, isMap(known) && isMap(value) ? merged(known, value) : known];
  });
  return { ...one, ...Object.fromEntries(both) };
}

function isMap(value: unknown): value is Metadata {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
