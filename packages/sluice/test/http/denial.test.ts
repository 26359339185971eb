/** What a denied client gets: status, headers, body, by what it accepts. */
import { describe, expect, test } from 'vitest';
import { denial, rateLimitHeaders } from '../../src/http/index.ts';
import { resultOf } from './support.ts';

const denied = resultOf(
  { policy: 'daily', allowed: false, remaining: 0, retryAfter: 41.2, resetAfter: 41.2 },
  { policy: 'burst', resetAfter: 86_000 },
);

test('a problem by default', () => {
  const { status, headers, body } = denial(denied, { headers: rateLimitHeaders(denied) });
  expect(status).toBe(429);
  expect(headers).toEqual({
    'X-RateLimit-Limit': '100',
    'X-RateLimit-Remaining': '0',
    'X-RateLimit-Reset': '1700000042',
    'RateLimit-Policy': '"daily";q=100, "burst";q=100',
    RateLimit: '"daily";r=0;t=42, "burst";r=99;t=86000',
    'Content-Type': 'application/problem+json',
    'Cache-Control': 'no-store',
    'Retry-After': '42',
  });
  expect(JSON.parse(body)).toEqual({
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Request cannot be satisfied as assigned quota has been exceeded',
    status: 429,
    detail: 'Too many requests. Retry after 42 seconds.',
    error: 'rate_limited',
    message: 'Too many requests. Retry after 42 seconds.',
    'violated-policies': ['daily'],
  });
});

test('the same under another type for those who ask for JSON', () => {
  const { status, headers, body } = denial(denied, { accept: 'application/json' });
  expect(status).toBe(429);
  expect(headers).toEqual({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'Retry-After': '42' });
  expect(body).toBe(denial(denied).body);
});

describe('Retry-After', () => {
  const after = (retryAfter: number) => denial(resultOf({ allowed: false, retryAfter })).headers['Retry-After'];
  test.each([
    [0.000001, '1'],
    [0.1, '1'],
    [1, '1'],
    [1.000001, '2'],
    [86_400, '86400'],
    [Number.POSITIVE_INFINITY, undefined],
  ])('%d s -> %s', (seconds, expected) => expect(after(seconds)).toBe(expected));

  test('is said in the singular too', () => {
    expect(denial(resultOf({ allowed: false, retryAfter: 0.5 })).body).toContain('Retry after 1 second.');
  });

  test('a cost that can never fit is told so', () => {
    const never = resultOf({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
    expect(JSON.parse(denial(never).body)).toMatchObject({
      error: 'rate_limited',
      message: 'Too many requests. This request costs more than its limit ever allows.',
    });
  });

  test('is never earlier than the t of a policy that denied', () => {
    for (const retryAfter of [0.2, 1, 1.5, 59.999999, 3600]) {
      const result = resultOf({ allowed: false, remaining: 0, retryAfter, resetAfter: 7200 });
      const t = Number(/t=(\d+)/.exec(rateLimitHeaders(result).RateLimit!)![1]);
      expect(Number(denial(result).headers['Retry-After'])).toBeGreaterThanOrEqual(t);
    }
  });
});

describe('a limiter that fails closed', () => {
  const closed = resultOf({ allowed: false, retryAfter: 2.5, source: 'fail-closed' });

  test('answers 503', () => {
    const { status, headers, body } = denial(closed);
    expect([status, headers['Retry-After'], headers['Cache-Control']]).toEqual([503, '3', 'no-store']);
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Request cannot be satisfied due to temporary server capacity constraints',
      status: 503,
      detail: 'Temporarily unavailable. Retry after 3 seconds.',
      error: 'temporarily_unavailable',
      message: 'Temporarily unavailable. Retry after 3 seconds.',
    });
  });

  test('but a cost that can never fit is refused as ever', () => {
    const never = resultOf({ allowed: false, retryAfter: Number.POSITIVE_INFINITY, source: 'fail-closed' });
    expect(denial(never)).toMatchObject({ status: 429, headers: expect.not.objectContaining({ 'Retry-After': '1' }) });
  });

  test('and a limit that another store has counted is a limit', () => {
    expect(denial(resultOf({ allowed: false, retryAfter: 2.5, source: 'fallback' })).status).toBe(429);
  });
});

describe('Accept', () => {
  const PROBLEM = 'application/problem+json';
  const JSON_FORM = 'application/json';
  test.each([
    [undefined, PROBLEM],
    ['', PROBLEM],
    ['*/*', PROBLEM],
    ['application/*', PROBLEM],
    ['application/json', JSON_FORM],
    ['APPLICATION/JSON', JSON_FORM],
    ['application/json; charset=utf-8', JSON_FORM],
    ['application/problem+json', PROBLEM],
    ['application/json, application/problem+json', PROBLEM],
    ['application/json, text/plain, */*', JSON_FORM],
    ['application/json;q=0.5, */*', PROBLEM],
    ['application/json;q=0.5, */*;q=0.1', JSON_FORM],
    ['application/problem+json;q=0.2, application/json;q=0.3', JSON_FORM],
    ['application/problem+json;q=0, */*', JSON_FORM],
    ['application/json;q=0, */*', PROBLEM],
    ['application/json;q=0', PROBLEM],
    ['text/html, application/json;q=0', PROBLEM],
    ['application/problem+json ; q=0.9 , application/json ;q=0.8', PROBLEM],
    ['application/json;q=1.5, application/problem+json;q=0.1', PROBLEM],
    ['application/json;q=nonsense, */*;q=0.1', PROBLEM],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', PROBLEM],
    ['text/html', PROBLEM],
    [`${'x/y,'.repeat(100)}application/json`, PROBLEM],
  ])('%s -> %s', (accept, type) => expect(denial(denied, { accept }).headers['Content-Type']).toBe(type));
});
