/**
 * packages/sluice/package.json, with the CommonJS form of every subpath: for `require` where it cannot load modules, for Jest, and for TypeScript as it resolves
 * packages there. Who adds a subpath writes `types` and `default`; the rest is added by `npm run generate`.
 */
import { readFileSync } from 'node:fs';

export function commonJsManifest(file) {
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const subpaths = Object.entries(manifest.exports).filter(([, target]) => typeof target === 'object');
  for (const [name, { types, default: code }] of subpaths) {
    // First: TypeScript would otherwise take the types of the other form.
    manifest.exports[name] = { require: { types: commonJs(types), default: commonJs(code) }, types, default: code };
  }
  const root = manifest.exports['.'].require;
  // For TypeScript that does not read `exports` (moduleResolution node10).
  const typesVersions = subpaths
    .filter(([name]) => name !== '.')
    .map(([name, { types }]) => [name.replace('./', ''), [commonJs(types)]]);
  const { name, version, description, license, type, main: _, types: __, typesVersions: ___, ...rest } = manifest;
  const head = { name, version, description, license, type, main: root.default, types: root.types };
  return `${JSON.stringify({ ...head, typesVersions: { '*': Object.fromEntries(typesVersions) }, ...rest }, null, 2)}\n`;
}

function commonJs(path) {
  return path.replace('./dist/', './dist/cjs/');
}
