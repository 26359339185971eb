/**
 * A real Postgres for tests and benchmarks: the newest of /usr/lib/postgresql and PATH, or Debian's package, unpacked into the workspace's cache.
 * It keeps its files in a folder of its own and listens on a port of its own. Postgres refuses to run as root, so there it runs as nobody.
 */

import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { unpackPackages } from './apt.ts';
import { CACHE_FOLDER, foldersOf, hasApt, isExecutable, libraryEnvironment } from './executables.ts';
import { HOST, isRunning, randomPort, spawnServer, stopper } from './launch.ts';
import { withLock } from './lock.ts';
import { type Environment, runProgram } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

export interface RunningPostgres {
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
  /** Kills it, as a crash would, and deletes what it kept. Can be called twice. */
  stop(): Promise<void>;
  /** Kills it, as a crash would, and starts it again on the same port with what it kept, when the function it gives is called. */
  crash(): Promise<() => Promise<void>>;
}

export interface PostgresOptions {
  /** Settings of the server: `{ max_connections: '200' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

interface PostgresPrograms {
  /** The folder with `initdb` and `postgres`. */
  readonly folder: string;
  readonly env: Environment;
  readonly version: string;
}

const ADVICE =
  'The tests need a real Postgres: put initdb and postgres into PATH. Debian and Ubuntu: "apt-get install postgresql".';

let found: Promise<PostgresPrograms> | undefined;

export function findPostgres(): Promise<PostgresPrograms> {
  found ??= search();
  return found;
}

async function search(): Promise<PostgresPrograms> {
  const present = await findPresent();
  if (present !== undefined) return present;
  if (!(await hasApt())) throw new Error(ADVICE);
  await mkdir(CACHE_FOLDER, { recursive: true });
  return withLock(join(CACHE_FOLDER, 'lock'), async () => (await findPresent()) ?? (await obtain()));
}

async function findPresent(): Promise<PostgresPrograms | undefined> {
  const installed = await foldersBelow('/');
  for (const folder of [...installed, ...foldersOf(process.env.PATH ?? '')]) {
    const programs = await programsIn(folder, {});
    if (programs !== undefined) return programs;
  }
  return findUnpacked(join(CACHE_FOLDER, 'postgres'));
}

async function findUnpacked(root: string): Promise<PostgresPrograms | undefined> {
  const env = await libraryEnvironment(root);
  for (const folder of await foldersBelow(root)) {
    const programs = await programsIn(folder, env);
    if (programs !== undefined) return programs;
  }
  return undefined;
}

/** Debian keeps each version by itself; the newest first. */
async function foldersBelow(root: string): Promise<string[]> {
  const parent = join(root, 'usr', 'lib', 'postgresql');
  const versions = await readdir(parent).catch(() => []);
  return versions.sort((one, other) => Number(other) - Number(one)).map((version) => join(parent, version, 'bin'));
}

async function programsIn(folder: string, env: Environment): Promise<PostgresPrograms | undefined> {
  const programs = ['initdb', 'postgres'].map((name) => join(folder, name));
  if (!(await Promise.all(programs.map(isExecutable))).every(Boolean)) return undefined;
  const text = await runProgram(programs[1]!, ['--version'], env).catch(() => '');
  const [, version] = /\) (\d+(?:\.\d+)?)/.exec(text) ?? [];
  return version === undefined ? undefined : { folder, env, version };
}

async function obtain(): Promise<PostgresPrograms> {
  console.error('No Postgres on this machine: getting it from the distribution, once.');
  const folder = join(CACHE_FOLDER, 'postgres');
  const unfinished = `${folder}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await unpackPackages(['postgresql'], unfinished).catch((cause) => {
    throw new Error(`${ADVICE}\nGetting it by apt was tried: ${String(cause)}`, { cause });
  });
  if ((await findUnpacked(unfinished)) === undefined) throw new Error('the package holds no postgres that runs');
  await rm(folder, { recursive: true, force: true });
  // Renamed only when it has run, so that what is in the cache works.
  await rename(unfinished, folder);
  const programs = await findUnpacked(folder);
  if (programs === undefined) throw new Error(`${folder} vanished`);
  return programs;
}

/** Who the server runs as: this user, or nobody where this user is root. */
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

const PORT_ATTEMPTS = 20;

export async function startPostgres({ settings = {} }: PostgresOptions = {}): Promise<RunningPostgres> {
  const programs = await findPostgres();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-postgres-'));
  await chmod(folder, 0o700);
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid);
  await initialize(programs, folder);
  for (let attempt = 1; ; attempt += 1) {
    const port = randomPort();
    try {
      return await startIn(programs, folder, port, settings);
    } catch (error) {
      if (attempt === PORT_ATTEMPTS || !String(error).includes('Address already in use')) throw error;
    }
  }
}

async function initialize({ folder: bin, env }: PostgresPrograms, folder: string): Promise<void> {
  const args = ['-D', join(folder, 'data'), '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync', '--locale=C'];
  await new Promise<void>((resolve, reject) => {
    const options = { ...user, cwd: folder, env: { ...process.env, ...env } };
    execFile(join(bin, 'initdb'), args, options, (error, stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`initdb failed: ${stdout}${stderr}`, { cause: error }));
    });
  });
}

async function startIn(
  programs: PostgresPrograms,
  folder: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<RunningPostgres> {
  const start = () => launch(programs, folder, port, settings);
  let child = await start();
  return {
    version: programs.version,
    host: HOST,
    port,
    url: `postgres://postgres@${HOST}:${port}/postgres`,
    get process() {
      return child;
    },
    async stop() {
      await kill(child);
      await stopper(child, folder)();
    },
    async crash() {
      await kill(child);
      return async () => {
        child = await start();
      };
    },
  };
}

async function launch(
  { folder: bin, env }: PostgresPrograms,
  folder: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<ChildProcess> {
  const logFile = join(folder, `server-${Date.now()}.log`);
  const own = { listen_addresses: HOST, port: String(port), unix_socket_directories: '', max_connections: '100' };
  const args = Object.entries({ ...own, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const data = join(folder, 'data');
  // What a crash has left behind would keep the next one from starting, if its number is another process's by now.
  await rm(join(data, 'postmaster.pid'), { force: true });
  const child = spawnServer({ server: join(bin, 'postgres'), env }, ['-D', data, ...args], folder, logFile, user);
  try {
    await waitUntil('Postgres answers', async () => !isRunning(child) || (await isAnswering(port)));
    if (!isRunning(child)) throw new Error('it ended');
  } catch (cause) {
    await kill(child);
    throw new Error(`Postgres did not start on port ${port}:\n${await readFile(logFile, 'utf8')}`, { cause });
  }
  return child;
}

/** Its children notice that it is gone and end by themselves; until then the memory they share is taken. */
async function kill(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const gone = once(child, 'exit');
  child.ref();
  // A stopped one hears nothing; an immediate shutdown takes the children with it.
  child.kill('SIGCONT');
  child.kill('SIGQUIT');
  await gone;
}

/** To a request for TLS a server that is up says yes or no, and one that starts says it in a sentence that begins with E. */
function isAnswering(port: number): Promise<boolean> {
  const startup = Buffer.from([0, 0, 0, 38, 0, 3, 0, 0, ...Buffer.from('user\0postgres\0database\0x\0\0')]);
  startup.writeInt32BE(startup.length, 0);
  return new Promise((resolve) => {
    const socket = connect({ host: HOST, port });
    socket.setTimeout(1000, () => socket.destroy());
    socket.on('connect', () => socket.write(startup));
    // "The database system is starting up" has the code 57P03; that there is no database "x" comes from one that is up.
    socket.on('data', (reply) => {
      resolve(!reply.includes('57P03'));
      socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(false));
  });
}

/** Where the programs are, for what is printed before the whole suite. */
export async function describePostgres(): Promise<string> {
  const { folder, version } = await findPostgres();
  return `postgres ${version} (${dirname(folder)})`;
}
