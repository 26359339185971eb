/** Starts a gateway with the very files of its folder, for the tests: only addresses, times and the word for "away" are put in. */
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  findGateway,
  type GatewayKind,
  isRunning,
  randomPort,
  spawnServer,
  stopper,
} from '../../tools/servers/index.ts';
import { waitUntil } from '../../tools/servers/wait-until.ts';

export interface GatewaySetup {
  readonly kind: GatewayKind;
  readonly servicePort: number;
  readonly upstreamPort: number;
  /** What becomes of requests while the service is away. */
  readonly whenAway: 'open' | 'closed';
  /** As its README says to ask without rules. */
  readonly withoutRules?: boolean;
}

export interface RunningGateway {
  readonly port: number;
  stop(): Promise<void>;
}

const ARGUMENTS: Readonly<Record<GatewayKind, readonly string[]>> = {
  // In one process, so that killing it leaves no workers behind.
  nginx: ['-p', '.', '-c', 'nginx.conf', '-e', 'stderr', '-g', 'daemon off; master_process off;'],
  caddy: ['run', '--config', 'Caddyfile'],
  haproxy: ['-db', '-f', 'haproxy.cfg'],
};

/** What stands in the files where the READMEs have another question. */
const QUESTIONS: Readonly<Record<GatewayKind, string>> = {
  nginx: 'proxy_pass http://sluice/v1/check?deny=403;',
  caddy: 'rewrite /v1/check?',
  haproxy: '/v1/check',
};

const PORT_ATTEMPTS = 20;

export async function startGateway(setup: GatewaySetup): Promise<RunningGateway> {
  for (let attempt = 1; ; attempt += 1) {
    const gateway = await startOn(randomPort(), randomPort(), setup);
    if (gateway !== undefined) return gateway;
    if (attempt === PORT_ATTEMPTS) throw new Error(`found no free port for ${setup.kind}`);
  }
}

/** Undefined when a port was taken. */
async function startOn(port: number, innerPort: number, setup: GatewaySetup): Promise<RunningGateway | undefined> {
  const { file, env } = await findGateway(setup.kind);
  const folder = await mkdtemp(join(tmpdir(), `sluice-${setup.kind}-`));
  await prepare(folder, port, innerPort, setup);
  const log = join(folder, 'gateway.log');
  const child = spawnServer({ server: file, env: { ...env, HOME: folder } }, ARGUMENTS[setup.kind], folder, log);
  const stop = stopper(child, folder);
  const answers = () => fetch(`http://127.0.0.1:${port}/health`).then(({ ok }) => ok);
  try {
    await waitUntil(`${setup.kind} answers`, async () => !isRunning(child) || (await answers()));
    if (isRunning(child)) return { port, stop };
  } catch (cause) {
    const text = await readFile(log, 'utf8');
    await stop();
    throw new Error(`${setup.kind} does not answer:\n${text}`, { cause });
  }
  const text = await readFile(log, 'utf8');
  await stop();
  if (/in use|cannot bind/i.test(text)) return undefined;
  throw new Error(`${setup.kind} ended:\n${text}`);
}

async function prepare(folder: string, port: number, innerPort: number, setup: GatewaySetup): Promise<void> {
  await cp(fileURLToPath(new URL(setup.kind, import.meta.url)), folder, { recursive: true });
  await mkdir(join(folder, 'temporary'), { recursive: true });
  const [, question] = /^- Without rules: `([^`]+)`/m.exec(await readFile(join(folder, 'README.md'), 'utf8')) ?? [];
  if (question === undefined) throw new Error(`the README of ${setup.kind} does not say how to ask without rules`);
  // As root, nginx lets its workers be nobody, who has to get to their own folders in here.
  await chmod(folder, 0o755);
  for (const name of (await readdir(folder)).filter((name) => /^Caddyfile$|\.(conf|cfg|lua)$/.test(name))) {
    const text = await readFile(join(folder, name), 'utf8');
    const asked = setup.withoutRules === true ? text.replace(QUESTIONS[setup.kind], question) : text;
    await writeFile(join(folder, name), adapted(asked, port, innerPort, setup));
  }
}

function adapted(text: string, port: number, innerPort: number, setup: GatewaySetup): string {
  return (
    text
      .replaceAll(':8000', `:${port}`)
      .replaceAll(':8079', `:${innerPort}`)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${setup.servicePort}`)
      .replaceAll('127.0.0.1:3000', `127.0.0.1:${setup.upstreamPort}`)
      // A busy test machine may take longer than a healthy service does.
      .replaceAll(/(timeout|timeout connect|timeout server) 1s/g, '$1 2s')
      .replace(/(\$sluice_when_away |SLUICE_WHEN_AWAY )open;?$/m, (line) => line.replace('open', setup.whenAway))
      .replace('SLUICE_WHEN_AWAY:open', `SLUICE_WHEN_AWAY:${setup.whenAway}`)
  );
}
