/** What the tools use of luaparse, which brings no types of its own. */
declare module 'luaparse' {
  interface Options {
    readonly luaVersion?: string;
    readonly scope?: boolean;
    readonly comments?: boolean;
  }
  const luaparse: { parse(source: string, options?: Options): unknown };

  // biome-ignore lint/style/noDefaultExport: it is a CommonJS module, whose only export is the default
  export { luaparse as default };
}
