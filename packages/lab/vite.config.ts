/** The lab is one static page with relative addresses, so that any server, at any path, can hand it out offline. */
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/** Policies bring along the Lua that Redis runs for them. No Redis is asked from this page. */
const WITHOUT_LUA: Plugin = {
  name: 'without-lua',
  transform(code, id) {
    if (!/\.lua\.generated\.[jt]s$/.test(id)) return undefined;
    return { code: code.replace(/"(?:[^"\\]|\\.)*"/g, "''"), map: null };
  },
};

export default defineConfig({
  plugins: [WITHOUT_LUA],
  worker: { plugins: () => [WITHOUT_LUA] },
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2022', assetsInlineLimit: 8192, modulePreload: false },
});
