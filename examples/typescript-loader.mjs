/** Lets Node load TypeScript, decorators included: types are taken away, nothing is checked. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { transformWithOxc } from 'vite';

export async function load(url, context, next) {
  if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const decorator = { legacy: true };
  const { code } = await transformWithOxc(await readFile(file, 'utf8'), file, { decorator, target: 'es2022' });
  return { format: 'module', source: code, shortCircuit: true };
}
