/** What the two commands of the README say of themselves. What they run is tested where it is. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('npm start -- --help says what it does, without doing it', async () => {
  const start = fileURLToPath(new URL('start.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [start, '--help']);
  for (const word of ['npm start', 'npm run tour', 'REDIS_URL', '--memory', '--no-open'])
    expect(stdout).toContain(word);
});
