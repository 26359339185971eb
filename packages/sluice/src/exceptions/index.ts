/** `sluice/exceptions`: keys, prefixes and networks that are exempt, denied or have other numbers, while a program runs. */
export { type BlockForOptions, blockFor } from './block-for.ts';
export { type DocumentRead, type ExceptionsPort, exceptionsOver } from './document.ts';
export type { ExceptionEntry, ExceptionKind, ExceptionOptions, OverrideOptions, Subject } from './entry.ts';
export { type Exceptions, type SharedExceptionsOptions, sharedExceptions } from './exceptions.ts';
export { type RedisExceptionsOptions, redisExceptions } from './redis.ts';
