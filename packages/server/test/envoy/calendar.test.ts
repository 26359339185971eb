/** Days, weeks, months and years of the calendar in Envoy's files: where they end, that they begin anew, and the reference server's variable. */
import { afterEach, describe, expect, test } from 'vitest';
import { readConfigs } from '../../src/config/read-config.ts';
import { periodEnd } from '../../src/envoy/unit.ts';
import { answerText } from './cases.ts';
import { type EnvoyService, startEnvoy } from './support.ts';

let service: EnvoyService;
afterEach(() => service?.stop());

const yamlOf = (unit: string, more = 'calendar: true'): string =>
  `domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: ${unit}, requests_per_unit: 2, ${more} } }]`;
const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };
const look = { ...asked, descriptors: [{ ...asked.descriptors[0]!, hitsAddend: { value: 0 } }] };

/** The last hour of a period, and the first moment of the next. */
const ROWS = [
  ['day', '2026-02-28T23:00:00Z', 86_400],
  // A Sunday.
  ['week', '2026-03-01T23:00:00Z', 7 * 86_400],
  ['month', '2026-02-28T23:00:00Z', 31 * 86_400],
  ['year', '2027-12-31T23:00:00Z', 366 * 86_400],
] as const;

test.each(ROWS)('a %s ends with the calendar', async (unit, lastHour, next) => {
  service = await startEnvoy(yamlOf(unit));
  const start = Date.parse(lastHour);
  service.clock.set(start);
  const told = async (request: typeof look | typeof asked) => answerText(await service.grpc(request));
  const name = unit.toUpperCase();
  expect(await told(look)).toBe(`OK: OK 2/2 ${name} 3600s`);
  expect(await told(asked)).toBe(`OK: OK 1/2 ${name} 3600s`);
  expect(await told(asked)).toBe(`OK: OK 0/2 ${name} 3600s`);
  expect(await told(asked)).toBe(`OVER_LIMIT: OVER_LIMIT 0/2 ${name} 3600s`);
  service.clock.set(start + 3_600_000);
  expect(await told(asked)).toBe(`OK: OK 1/2 ${name} ${next}s`);
});

test.each(['free', 'spend'] as const)('a give-back to a month, with denied requests that %s', async (denied) => {
  service = await startEnvoy(yamlOf('month'), { settings: { denied } });
  service.clock.set(Date.parse('2026-04-30T23:59:00Z'));
  await service.grpc(asked);
  const back = {
    ...asked,
    descriptors: [{ ...asked.descriptors[0]!, hitsAddend: { value: 5 }, isNegativeHits: true }],
  };
  expect(answerText(await service.grpc(back))).toBe('OK: OK 2/2 MONTH 60s');
});

describe('USE_CALENDAR_MONTH_RATE_LIMIT', () => {
  const calendarOf = (text: string, value: string | undefined) => {
    const { config, problems } = readConfigs([{ file: 'a.yaml', text }], { USE_CALENDAR_MONTH_RATE_LIMIT: value });
    expect(problems).toEqual([]);
    return config!.envoy!.get('shop')!.nodes[0]!.rule!.limit!.calendar;
  };

  test('is for months, and for nothing else', () => {
    expect(calendarOf(yamlOf('month', ''), 'true')).toBe('MONTH');
    expect(calendarOf(yamlOf('month', ''), undefined)).toBeUndefined();
    expect(calendarOf(yamlOf('year', ''), 'true')).toBeUndefined();
    expect(calendarOf(yamlOf('month', 'unit_multiplier: 2'), 'true')).toBeUndefined();
  });
});

test.each([
  ['minute', 'calendar: true'],
  ['month', 'calendar: true, unit_multiplier: 2'],
  ['month', 'calendar: true, algorithm: token-bucket'],
  ['month', 'calendar: soon'],
])('%s with %s is an error', (unit, more) => {
  const { problems } = readConfigs([{ file: 'a.yaml', text: yamlOf(unit, more) }]);
  expect(problems[0]?.message).toMatch(/calendar: expected|cannot unmarshal|calendar/);
});

test('periods end where those of the calendar do', () => {
  const at = (text: string): number => Date.parse(text);
  expect(periodEnd('WEEK', at('2026-11-18T12:00:00Z'))).toBe(at('2026-11-23T00:00:00Z'));
  expect(periodEnd('WEEK', at('2026-11-23T00:00:00Z'))).toBe(at('2026-11-30T00:00:00Z'));
  expect(periodEnd('MONTH', at('2028-02-29T23:59:59.999Z'))).toBe(at('2028-03-01T00:00:00Z'));
  expect(periodEnd('YEAR', at('2026-01-01T00:00:00Z'))).toBe(at('2027-01-01T00:00:00Z'));
});
