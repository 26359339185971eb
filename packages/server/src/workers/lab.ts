/**
 * The lab of a server with several workers. What somebody plays on is in the memory of a process, so one worker has the lab, and the others pass on
 * what is asked of it, once they have checked who asks. The page itself everybody has.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { Answer } from '../service/answer.ts';
import { readText } from '../service/read-body.ts';
import { type Asked, type Route, routeFinder } from '../service/routes.ts';
import type { Service } from '../service/service.ts';
import type { PassedRequest } from './questions.ts';

const IS_PLAYED_ON = /^\/api\//;

/** The same routes, answered by whoever has the lab. */
export function passedOn(routes: readonly Route[], pass: (request: PassedRequest) => Promise<Answer>): Route[] {
  return routes.map((route) => {
    if (!IS_PLAYED_ON.test(route.path)) return route;
    return {
      ...route,
      async handle({ request }, { bodyLimits }) {
        const { method = 'GET', url = '/', headers, socket } = request;
        const [path = '/', query = ''] = url.split('?', 2);
        const body = await readText(request, bodyLimits);
        return pass({ method, path, query, headers, isSecure: 'encrypted' in socket, body });
      },
    };
  });
}

/** What was passed on, as if it had come here. */
export function answerPassed(routes: readonly Route[], service: Service, passed: PassedRequest): Promise<Answer> {
  const { method, path, query, headers, isSecure, body } = passed;
  const { route, parameter } = routeFinder(routes)(method, path);
  const request = Object.assign(Readable.from(body === '' ? [] : [Buffer.from(body)]), {
    ...{ method, url: path, headers, complete: true },
    socket: isSecure ? { encrypted: true } : {},
  }) as unknown as IncomingMessage;
  const asked: Asked = { request, parameter, query: new URLSearchParams(query) };
  return service.answer(route, asked);
}
