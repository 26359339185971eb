/** Older versions under another name: what the adapters use of them has the same types. */
declare module 'express4' {
  export { default } from 'express';
}
declare module 'koa2' {
  export { default } from 'koa';
}
