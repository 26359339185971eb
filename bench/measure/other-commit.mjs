/** The library of another commit, built in a folder of its own, so that both can be measured in the same rounds. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NEEDED = ['packages/sluice', 'packages/server', 'package.json', 'tsconfig.base.json'];

/** Generated files are committed, so the compiler is all it takes. What it takes for a mistake in old code is no hindrance. */
export async function buildOf(commit, progress) {
  progress.group(`building ${commit}`);
  const { stdout } = await run('git', ['rev-parse', '--short', `${commit}^{commit}`], { cwd: ROOT });
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await run('sh', ['-c', 'git archive "$0" "$@" | tar -x -C "$FOLDER"', stdout.trim(), ...NEEDED], {
      cwd: ROOT,
      env: { ...process.env, FOLDER: folder },
    });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const compiler = join(ROOT, 'node_modules', '.bin', 'tsc');
    await run(compiler, ['-p', 'packages/sluice/tsconfig.build.json'], { cwd: folder });
    const library = join(folder, 'packages', 'sluice');
    return { commit: stdout.trim(), library, server: () => serverIn(folder, library), remove };
  } catch (error) {
    await remove();
    throw new Error(`${commit} could not be built: ${error.stdout || error.stderr || error.message}`, { cause: error });
  }
}

/** The file of its command. Only those who measure the service wait for it to be built; it finds the library of its own commit first. */
async function serverIn(folder, library) {
  const server = join(folder, 'packages', 'server');
  await mkdir(join(server, 'node_modules'));
  await symlink(library, join(server, 'node_modules', 'sluice'));
  await run(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', 'packages/server/tsconfig.build.json'], { cwd: folder });
  return join(server, 'bin', 'sluice.mjs');
}
