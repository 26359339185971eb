/** The contract on Nest, over Express and over Fastify. Decorators are called as the functions they are: no compiler needed. */
import 'reflect-metadata';
import { All, Controller, type INestApplication, Module, Req, Res } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { type NestRequest, RateLimit, RateLimitModule } from '../../src/frameworks/nest.ts';
import { type App, frameworkContract } from './contract.ts';
import { listening } from './servers.ts';

interface Reply {
  status(status: number): { send(body: string): unknown };
}

/** `@Controller() class { @RateLimit(options) @All(path) answer(@Req() request, @Res() reply) { ... } }` */
function controllerOf(app: App, path: string, options?: App['options']): new () => object {
  class Answering {
    answer(request: NestRequest, reply: Reply): void {
      const { status, body } = app.answer(request.rateLimit, (name) => request.headers?.[name]?.toString());
      reply.status(status).send(body);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Answering.prototype, 'answer')!;
  Controller()(Answering);
  All(path)(Answering.prototype, 'answer', method);
  Req()(Answering.prototype, 'answer', 0);
  Res()(Answering.prototype, 'answer', 1);
  if (options !== undefined) RateLimit(options)(Answering.prototype, 'answer', method);
  return Answering;
}

const start = (adapter: () => AbstractHttpAdapter) => async (app: App) => {
  class AppModule {}
  Module({
    imports: [RateLimitModule.forRoot(app.options)],
    controllers: [
      ...Object.entries(app.routes).map(([path, options]) => controllerOf(app, path, options)),
      ...['/', '/health', '/one', '/two'].map((path) => controllerOf(app, path)),
    ],
  })(AppModule);
  const server: INestApplication = await NestFactory.create(AppModule, adapter(), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
  });
  await server.listen(0, '127.0.0.1');
  return { ...(await listening(server.getHttpServer())), stop: () => server.close() };
};

frameworkContract(
  'nest over express',
  start(() => new ExpressAdapter()),
);
frameworkContract(
  'nest over fastify',
  start(() => new FastifyAdapter()),
);
