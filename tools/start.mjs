/** What `npm start` runs: in a fresh clone, from nothing to the lab in a browser. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { installDependencies } from './install-dependencies.mjs';
import { runQuietly, workspaceFolder } from './steps.mjs';

const HELP = `Sluice: installs, builds, and serves the lab, in which the same traffic goes through every algorithm.

  npm start                        the lab and the limits of packages/server/examples/policies.yaml
  npm start -- --port 9000         what follows the two dashes goes to sluice serve (see sluice serve --help)
  npm run tour                     the same in the terminal, without a browser

The state is kept on the Redis of REDIS_URL; without it on a Redis of its own, if redis-server or valkey-server is in PATH, which ends
with the lab; otherwise in memory.

Options of its own:
  --memory     no Redis, even if there is one
  --no-open    prints the address, and opens no browser
  --help       prints this
`;

const OWN = ['--memory', '--no-open'];
const CONFIG = join('packages', 'server', 'examples', 'policies.yaml');
const BINARY = join('packages', 'server', 'bin', 'sluice.mjs');
const USUAL_PORT = 8080;

async function main(args) {
  if (args.includes('--help')) {
    console.log(HELP.trimEnd());
    return 0;
  }
  const isReady = (await installDependencies()) && (await runQuietly('Building', 'npm', ['run', 'build']));
  if (!isReady) return 1;
  const handedOn = args.filter((argument) => !OWN.includes(argument));
  const has = (flag) => handedOn.some((argument) => argument === flag || argument.startsWith(`${flag}=`));
  return serve(
    [
      ...(has('--config') || process.env.SLUICE_CONFIG ? [] : ['--config', CONFIG]),
      ...(has('--redis') || process.env.SLUICE_REDIS ? [] : await redisArguments(args.includes('--memory'))),
      ...(has('--port') || process.env.SLUICE_PORT ? [] : ['--port', String(await usablePort())]),
      ...handedOn,
    ],
    !args.includes('--no-open'),
  );
}

/** Its end is ours: an interrupt reaches it by itself, and we wait until it has finished what it had. */
async function serve(args, mayOpen) {
  const child = spawn(process.execPath, [BINARY, 'serve', ...args], {
    cwd: workspaceFolder,
    stdio: ['inherit', 'pipe', 'inherit'],
  });
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk);
    const [, url] = /^The lab: (\S+)/m.exec(String(chunk)) ?? [];
    if (url !== undefined && mayOpen) openInBrowser(url);
  });
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

async function redisArguments(isInMemory) {
  if (isInMemory) return ['--redis', 'memory'];
  if (process.env.REDIS_URL) return ['--redis', process.env.REDIS_URL];
  for (const kind of ['redis', 'valkey']) {
    if (await isInPath(`${kind}-server`, `${kind}-cli`)) return ['--redis', await ownServer(kind)];
  }
  return [];
}

/** It ends with this process, however that ends. */
async function ownServer(kind) {
  const { runnerImport } = await import('vite');
  const { module } = await runnerImport(join(workspaceFolder, 'tools', 'servers', 'index.ts'));
  const { url } = await module.startServer({ kind });
  return url;
}

/** All of them in one folder. */
async function isInPath(...programs) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const found = programs.map((program) => access(join(folder, program), constants.X_OK));
    if ((await Promise.allSettled(found)).every(({ status }) => status === 'fulfilled')) return true;
  }
  return false;
}

/** The usual one, or, where somebody has it, any: whoever looks at the lab should not have to look for a port. */
async function usablePort() {
  const server = createServer().listen(USUAL_PORT, '127.0.0.1');
  const isFree = await Promise.race([
    once(server, 'listening').then(() => true),
    once(server, 'error').then(() => false),
  ]);
  server.close();
  return isFree ? USUAL_PORT : 0;
}

/** Only where somebody sits in front of it. */
function openInBrowser(url) {
  const hasScreen = process.platform !== 'linux' || process.env.DISPLAY || process.env.WAYLAND_DISPLAY;
  if (!process.stdout.isTTY || !hasScreen) return;
  const [program, ...args] = OPENERS[process.platform] ?? OPENERS.linux;
  spawn(program, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
}

const OPENERS = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''], linux: ['xdg-open'] };

process.exitCode = await main(process.argv.slice(2));
