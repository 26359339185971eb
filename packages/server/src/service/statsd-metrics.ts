/** What statsd is told: the same counts as /metrics has them. */
import type { StatsdMetric } from '../telemetry/statsd.ts';
import type { Report } from './crew.ts';

const NONE = {};

export function statsdMetrics({ counts, store }: Report): StatsdMetric[] {
  const { decisions, sources, responses, checks, checkSeconds, storeErrors, fallbackSeconds, cutOff, reloads } = counts;
  const count = (name: string, value: number, labels: Readonly<Record<string, string>> = NONE): StatsdMetric => ({
    ...{ name, labels, kind: 'count', value },
  });
  const gauge = (name: string, value: number): StatsdMetric => ({ name, labels: NONE, kind: 'gauge', value });
  return [
    ...[...decisions].flatMap(([policy, outcomes]) =>
      Object.entries(outcomes).map(([outcome, value]) => count('decisions', value, { policy, outcome })),
    ),
    ...[...sources].map(([source, value]) => count('answers', value, { source })),
    ...[...responses].map(([status, value]) => count('http_responses', value, { status: String(status) })),
    ...Object.entries(reloads).map(([result, value]) => count('config_reloads', value, { result })),
    count('checks', checks),
    count('check_milliseconds', Math.round(checkSeconds * 1e3)),
    count('store_errors', storeErrors),
    count('fallback_seconds', Math.floor(fallbackSeconds)),
    count('connections_cut', cutOff),
    gauge('store_up', store.isUp ? 1 : 0),
    gauge('breaker_open', store.serversAway),
  ];
}
