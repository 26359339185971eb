/** Nest 11 with resolvers of GraphQL and a gateway of WebSockets: the same module and the same decorators. */
import 'reflect-metadata';
import { ApolloDriver } from '@nestjs/apollo';
import { Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { WsAdapter } from '@nestjs/platform-ws';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { fixedWindow, tokenBucket } from 'sluice';
import { RateLimit, RateLimitGuard, RateLimitModule } from 'sluice/nest';

@Resolver()
class AppResolver {
  @Query('home')
  home(): string {
    return 'hello';
  }

  @Query('report')
  @RateLimit({ policy: fixedWindow({ name: 'report', limit: 2, window: '1h', align: 'first' }) })
  report(): string {
    return 'long';
  }
}

@WebSocketGateway()
@UseGuards(RateLimitGuard) // Nest puts global guards before no gateway
class AppGateway {
  @SubscribeMessage('say')
  say(_client: unknown, text: string): object {
    return { event: 'said', data: text };
  }
}

@Module({
  imports: [
    GraphQLModule.forRoot({ driver: ApolloDriver, typeDefs: 'type Query { home: String! report: String! }' }),
    RateLimitModule.forRoot({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) }),
  ],
  providers: [AppResolver, AppGateway],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.useWebSocketAdapter(new WsAdapter(app));
await app.listen(Number(process.env.PORT ?? 3000));
console.log(`listening on ${JSON.stringify(app.getHttpServer().address())}`);
