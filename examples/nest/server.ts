/** Nest 11, over Express or Fastify. The module limits every handler; a decorator says what is different about one. */
import 'reflect-metadata';
import { Controller, Get, HttpCode, Module, Post, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { fixedWindow, tokenBucket } from 'sluice';
import { type NestRequest, RateLimit, RateLimitModule, SkipRateLimit } from 'sluice/nest';

@Controller()
class AppController {
  @Get('health')
  @SkipRateLimit()
  health(): string {
    return 'ok';
  }

  @Post('login')
  @HttpCode(200)
  @RateLimit({ policy: fixedWindow({ name: 'login', limit: 2, window: '1h', align: 'first' }) })
  login(): object {
    return { welcome: true };
  }

  @Get()
  home(@Req() request: NestRequest): object {
    return { left: request.rateLimit?.remaining };
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ policy: tokenBucket({ name: 'burst', capacity: 5, refillRate: '1/m' }) })],
  controllers: [AppController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
await app.listen(Number(process.env.PORT ?? 3000));
console.log(`listening on ${JSON.stringify(app.getHttpServer().address())}`);
