/** Spans, and how OTLP writes them as JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): ids in hex, 64 bits as text. */

/** Numbers are whole. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: SpanKind;
  /** Unix time in microseconds. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Attributes;
  readonly isError: boolean;
}

export const SPAN_KIND = { internal: 1, server: 2, client: 3 } as const;
export type SpanKind = (typeof SPAN_KIND)[keyof typeof SPAN_KIND];

const STATUS_ERROR = 2;

/** The body of an export. */
export function otlpJson(
  spans: readonly Span[],
  resource: Attributes,
  scope: { name: string; version: string },
): string {
  const scopeSpans = [{ scope, spans: spans.map(spanJson) }];
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: attributesJson(resource) }, scopeSpans }] });
}

function spanJson({
  traceId,
  spanId,
  parentSpanId,
  name,
  kind,
  startedAt,
  endedAt,
  attributes,
  isError,
}: Span): object {
  return {
    ...{ traceId, spanId, name, kind },
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    startTimeUnixNano: nanos(startedAt),
    endTimeUnixNano: nanos(endedAt),
    attributes: attributesJson(attributes),
    ...(isError ? { status: { code: STATUS_ERROR } } : {}),
  };
}

/** More digits than a number of JSON keeps. */
function nanos(micros: number): string {
  return `${micros}000`;
}

function attributesJson(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueJson(value) }));
}

function valueJson(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value };
  return typeof value === 'boolean' ? { boolValue: value } : { intValue: String(value) };
}
