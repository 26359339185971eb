/** What the variables of OpenTelemetry say about traces (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/). */
import type { Sampling } from './trace-context.ts';

/** It is plain data, so that it can go to other processes. */
export interface TraceSettings {
  /** Where spans are sent to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly sampling: Sampling;
  /** What every span has in common. */
  readonly resource: Readonly<Record<string, string>>;
  /** How long a span waits for others that go with it. */
  readonly delayMs: number;
  readonly maxQueue: number;
  readonly maxBatch: number;
  /** In sentences. */
  readonly warnings: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined when nothing is to be traced. `endpoint` is the flag's. Throws with a sentence. */
export function readTraceSettings(environment: Environment, endpoint?: string): TraceSettings | undefined {
  const set = (name: string): string | undefined => environment[name] || undefined;
  const of = (name: string): string | undefined =>
    set(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? set(`OTEL_EXPORTER_OTLP_${name}`);
  if (set('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || set('OTEL_TRACES_EXPORTER') === 'none') return undefined;
  const own = set('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = endpoint ?? set('OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = own ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined) return undefined;
  if (!/^https?:/i.test(url) || !URL.canParse(url)) {
    const flag = own === undefined ? '--otlp' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT';
    throw new Error(`${flag}: expected a URL such as http://localhost:4318, got ${JSON.stringify(own ?? base)}`);
  }
  const number = (name: string, usual: number): number => {
    const value = Number(set(name) ?? usual);
    if (Number.isInteger(value) && value > 0) return value;
    throw new Error(`${name}: expected a whole number above 0, got ${JSON.stringify(set(name))}`);
  };
  const protocol = of('PROTOCOL');
  return {
    url,
    headers: pairs(of('HEADERS'), 'OTEL_EXPORTER_OTLP_HEADERS'),
    timeoutMs: number(
      set('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') ? 'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT' : 'OTEL_EXPORTER_OTLP_TIMEOUT',
      10_000,
    ),
    sampling: readSampling(set('OTEL_TRACES_SAMPLER'), set('OTEL_TRACES_SAMPLER_ARG')),
    resource: readResource(set('OTEL_RESOURCE_ATTRIBUTES'), set('OTEL_SERVICE_NAME')),
    delayMs: number('OTEL_BSP_SCHEDULE_DELAY', 5000),
    maxQueue: number('OTEL_BSP_MAX_QUEUE_SIZE', 2048),
    maxBatch: number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    warnings:
      protocol === 'grpc'
        ? [
            'OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and traces are sent as http/json: the endpoint must take that, as collectors do on port 4318.',
          ]
        : [],
  };
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'] as const;

function readSampling(name = 'parentbased_always_on', argument = '1'): Sampling {
  const isParentBased = name.startsWith('parentbased_');
  const kind = name.replace(/^parentbased_/, '');
  if (!SAMPLERS.includes(kind as 'always_on')) {
    const known = SAMPLERS.flatMap((each) => [each, `parentbased_${each}`]).join(', ');
    throw new Error(`OTEL_TRACES_SAMPLER: expected one of ${known}, got ${JSON.stringify(name)}`);
  }
  const ratio = kind === 'traceidratio' ? Number(argument) : kind === 'always_on' ? 1 : 0;
  if (ratio >= 0 && ratio <= 1) return { isParentBased, ratio };
  throw new Error(`OTEL_TRACES_SAMPLER_ARG: expected a share from 0 to 1, got ${JSON.stringify(argument)}`);
}

function readResource(attributes: string | undefined, name: string | undefined): TraceSettings['resource'] {
  const given = pairs(attributes, 'OTEL_RESOURCE_ATTRIBUTES');
  return { 'service.name': 'sluice', ...given, ...(name === undefined ? {} : { 'service.name': name }) };
}

/** `a=1,b=2`, percent-encoded. */
function pairs(text: string | undefined, variable: string): Record<string, string> {
  const parts = (text ?? '').split(',').map((part) => part.trim());
  return Object.fromEntries(
    parts.filter(Boolean).map((part) => {
      const [, name, value] = /^([^=]+)=(.*)$/.exec(part) ?? [];
      if (name !== undefined) return [name.trim(), decoded(value!.trim())];
      throw new Error(`${variable}: expected name=value,name=value, got ${JSON.stringify(part)}`);
    }),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
