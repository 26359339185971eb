/** The contract on Fastify. */
import { type FastifyRequest, fastify } from 'fastify';
import { rateLimit } from '../../src/frameworks/fastify.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

frameworkContract('fastify', async (app: App) => {
  const server = fastify({ forceCloseConnections: true });
  await server.register(rateLimit, app.options);
  const handler = (request: FastifyRequest, reply: { code(status: number): { send(body: string): unknown } }) => {
    const { status, body } = app.answer(request.rateLimit, (name) => request.headers[name]?.toString());
    return reply.code(status).send(body);
  };
  for (const [path, options] of Object.entries(app.routes)) {
    server.all(path, { config: { rateLimit: options } }, handler);
  }
  for (const path of ['/', '/health', '/one', '/two']) server.all(path, handler);
  await server.listen({ port: 0, host: '127.0.0.1' });
  return { ...(await listening(server.server)), stop: () => server.close() };
});
