declare module 'dynalite' {
  /** A server of node:http that speaks DynamoDB's protocol. */
  const dynalite: (options?: { readonly createTableMs?: number }) => import('node:http').Server;
  // biome-ignore lint/style/noDefaultExport: the package is CommonJS, and this is all it exports.
  export default dynalite;
}
