/**
 * What stands before a function, and how it calls it: the events of API Gateway (HTTP APIs in format 2.0, REST APIs in format 1.0), of function URLs and of
 * Application Load Balancers as AWS documents them, and what becomes of the answers.
 */
import type { IncomingMessage } from 'node:http';

export type FrontKind = 'http' | 'rest' | 'alb' | 'alb-multi';

export interface FunctionAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
}

type Lines = Readonly<Record<string, string[]>>;

/** `client`: the address that the front sees. */
export function eventOf(kind: FrontKind, request: IncomingMessage, body: string, client: string): object {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://front');
  const method = request.method ?? 'GET';
  // A front adds the address it sees to what came.
  const lines: Record<string, string[]> = {};
  for (const [name, values = []] of Object.entries(request.headersDistinct)) lines[name] = [...values];
  lines['x-forwarded-for'] = [[...(lines['x-forwarded-for'] ?? []), client].join(', ')];
  const common = { body: body === '' ? null : body, isBase64Encoded: false };
  const query = Object.fromEntries(searchParams);
  switch (kind) {
    case 'http':
      return {
        ...{ version: '2.0', routeKey: '$default', rawPath: pathname, rawQueryString: searchParams.toString() },
        headers: joined(lines, ','),
        queryStringParameters: query,
        requestContext: {
          ...{ accountId: '123456789012', apiId: 'api-id', stage: '$default', routeKey: '$default' },
          http: { method, path: pathname, protocol: 'HTTP/1.1', sourceIp: client, userAgent: 'test' },
        },
        ...(body === '' ? { isBase64Encoded: false } : common),
      };
    case 'rest':
      return {
        ...{ version: '1.0', resource: '/{proxy+}', path: pathname, httpMethod: method },
        ...{ headers: last(capitalized(lines)), multiValueHeaders: capitalized(lines), queryStringParameters: query },
        requestContext: {
          ...{
            accountId: '123456789012',
            apiId: 'api-id',
            stage: 'prod',
            httpMethod: method,
            path: `/prod${pathname}`,
          },
          ...{ resourcePath: '/{proxy+}', identity: { sourceIp: client, userAgent: 'test' } },
        },
        ...common,
      };
    default: {
      const targetGroupArn =
        'arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/functions/49e9d65c45c6791a';
      const head = kind === 'alb' ? { headers: last(lines) } : { multiValueHeaders: lines };
      return {
        ...{ requestContext: { elb: { targetGroupArn } }, httpMethod: method, path: pathname },
        ...{ queryStringParameters: query, ...head, body, isBase64Encoded: false },
      };
    }
  }
}

const mapped = <T>(lines: Lines, of: (values: string[]) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(lines).map(([name, values]) => [name, of(values)]));
const joined = (lines: Lines, by: string) => mapped(lines, (values) => values.join(by));
const last = (lines: Lines) => mapped(lines, (values) => values.at(-1)!);
const capitalized = (lines: Lines): Lines =>
  Object.fromEntries(
    Object.entries(lines).map(([name, values]) => [name.replace(/(^|-)\w/g, (at) => at.toUpperCase()), values]),
  );

const BAD_GATEWAY: FunctionAnswer = { status: 502, headers: {}, body: '{"message":"Internal server error"}' };

interface Result {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, string[]>>;
  readonly body?: string;
}

/** What a front makes of what a function returned. Format 2.0 infers a response; the others answer with 502 when it is none. */
export function answerOf(kind: FrontKind, result: Result | string | null): FunctionAnswer {
  const isResult = typeof result === 'object' && result !== null && typeof result.statusCode === 'number';
  if (!isResult) {
    if (kind !== 'http') return BAD_GATEWAY;
    const body = typeof result === 'string' ? result : JSON.stringify(result);
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  }
  // A target group takes one kind of headers, as it is set up.
  const headers = {
    ...(kind === 'alb-multi' ? {} : result.headers),
    ...(kind === 'http' || kind === 'alb' ? {} : result.multiValueHeaders),
  };
  return { status: result.statusCode!, headers, body: result.body ?? '' };
}

/** Before the body of a streamed response: status and headers as JSON, and eight zeros. */
export function streamedAnswerOf(bytes: Buffer): FunctionAnswer {
  const end = bytes.indexOf(Buffer.alloc(8));
  const { statusCode = 200, headers = {} } = JSON.parse(bytes.subarray(0, end).toString()) as Result;
  return { status: statusCode, headers, body: bytes.subarray(end + 8).toString() };
}
