import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { chooseMirror, parseOneLineSources, parseParagraphSources, sourceLine } from './apt-sources.ts';
import { findServer, type ServerKind, startCluster, startProxy, startSentinel, startServer } from './index.ts';
import { encodeCommand, parseReply, sendCommand } from './resp.ts';
import { waitUntil } from './wait-until.ts';

const KINDS: ServerKind[] = ['redis', 'valkey'];

// Nearly all of the time is spent waiting for servers, which can be done for all of them at once.
describe.concurrent.each(KINDS)('%s', (kind) => {
  it('is found', async () => {
    const { server, cli, version } = await findServer(kind);
    expect(existsSync(server)).toBe(true);
    expect(existsSync(cli)).toBe(true);
    expect(version).toMatch(/^\d+\.\d+\.\d+/);
  });

  describe('a single server', () => {
    it('answers, and is gone after stop', async () => {
      const server = await startServer({ kind, args: ['--maxmemory', '12mb'] });
      expect(await server.command('PING')).toBe('PONG');
      expect(await server.command('CONFIG', 'GET', 'maxmemory')).toEqual(['maxmemory', String(12 * 1024 * 1024)]);
      expect(await server.command('PTTL', 'nothing')).toBe(-2);
      await expect(server.command('NOSUCHCOMMAND')).rejects.toThrow(/unknown command/);
      await server.stop();
      await server.stop();
      expect(isAlive(server.pid)).toBe(false);
    });

    it('starts many times at once, each on a port of its own', async () => {
      const servers = await Promise.all(Array.from({ length: 8 }, () => startServer({ kind })));
      expect(new Set(servers.map(({ port }) => port)).size).toBe(servers.length);
      await Promise.all(servers.map((server) => server.stop()));
    });

    it('takes no port that is taken, and takes a port again that was given back', async () => {
      const first = await startServer({ kind });
      await expect(startServer({ kind, port: first.port })).rejects.toThrow(/taken/);
      process.kill(first.pid, 'SIGKILL');
      await once(first.process, 'exit');
      const second = await startServer({ kind, port: first.port });
      expect(await second.command('PING')).toBe('PONG');
      await Promise.all([first.stop(), second.stop()]);
    });

    it('shows what the server said when it does not start', async () => {
      await expect(startServer({ kind, args: ['--no-such-option', '1'] })).rejects.toThrow(/no-such-option/);
    });

    it('ends a server that hangs', async () => {
      const server = await startServer({ kind });
      process.kill(server.pid, 'SIGSTOP');
      await server.stop();
      expect(isAlive(server.pid)).toBe(false);
    });
  });

  it('runs as a cluster, and all of it is gone after stop', async () => {
    const cluster = await startCluster({ kind });
    const pids = cluster.nodes.map(({ pid }) => pid);
    expect(cluster.startupNodes).toHaveLength(6);
    for (const node of cluster.nodes) expect(await node.command('CLUSTER', 'INFO')).toContain('cluster_state:ok');
    await cluster.stop();
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it('runs with a sentinel that replaces a lost master', async () => {
    const { masterName, master, replica, sentinels, stop } = await startSentinel({ kind, lostAfterMs: 1000 });
    const askForMaster = () => sendCommand(sentinels[0]!, ['SENTINEL', 'get-master-addr-by-name', masterName]);
    expect(await askForMaster()).toEqual([master.host, String(master.port)]);
    await master.stop();
    await waitUntil('the replica is the master', async () => String(await askForMaster()).endsWith(`${replica.port}`));
    await stop();
    expect(isAlive(replica.pid)).toBe(false);
    await expect(askForMaster()).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('when the process that started a server is killed', () => {
  it('the server goes with it', async () => {
    const servers = fileURLToPath(new URL('./index.ts', import.meta.url));
    const script = `
      import { runnerImport } from 'vite';
      const { module } = await runnerImport(${JSON.stringify(servers)});
      const server = await module.startServer({ kind: 'redis' });
      console.log(server.port);
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 2] });
    const [line] = await once(parent.stdout!, 'data');
    const address = { host: '127.0.0.1', port: Number(line) };
    expect(await sendCommand(address, ['PING'])).toBe('PONG');
    parent.kill('SIGKILL');
    const isGone = () => sendCommand(address, ['PING']).then(() => false, isRefusal);
    await waitUntil('the server is gone', isGone);
  });
});

describe('RESP2', () => {
  it.each([
    ['+OK\r\n', 'OK'],
    [':-2\r\n', -2],
    ['$-1\r\n', null],
    ['*-1\r\n', null],
    ['$7\r\nsé\r\n12\r\n', 'sé\r\n12'],
    ['*3\r\n:1\r\n*1\r\n$0\r\n\r\n-ERR no\r\n', [1, [''], new Error('ERR no')]],
  ])('%j is a whole reply, and nothing less is', (text, value) => {
    const bytes = Buffer.from(text);
    expect(parseReply(bytes, 0)).toEqual({ value, end: bytes.length });
    for (let length = 0; length < bytes.length; length += 1) {
      expect(parseReply(bytes.subarray(0, length), 0)).toBeUndefined();
    }
  });

  it('is not what somebody else answers, who has the port', async () => {
    const stranger = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await once(stranger.listen(0, '127.0.0.1'), 'listening');
    const { port } = stranger.address() as AddressInfo;
    await expect(sendCommand({ host: '127.0.0.1', port }, ['PING'])).rejects.toThrow('not a RESP2 reply: HTTP/1.1 400');
    stranger.close();
  });

  it('counts the bytes of an argument', () => {
    expect(encodeCommand(['GET', 'é'])).toBe('*2\r\n$3\r\nGET\r\n$2\r\né\r\n');
  });
});

describe('the mirror of the distribution', () => {
  const thirdParty = 'deb https://packages.example.com/apt bookworm main\n';
  const oneLine = `# the mirror
deb-src http://mirror.example.org/debian bookworm main
deb [arch=amd64 signed-by=/keys/debian.gpg] http://mirror.example.org/debian bookworm main contrib # comment
deb http://mirror.example.org/debian bookworm-updates main
`;
  const paragraphs = `Types: deb deb-src
# a comment inside
URIs: http://mirror.example.org/debian
Suites: bookworm
 bookworm-updates
Components: main
Signed-By: /keys/debian.gpg

Enabled: no
Types: deb
URIs: http://disabled.example.org/debian
Suites: bookworm
Components: main
`;

  it.each([
    ['one-line', parseOneLineSources(thirdParty + oneLine), '[arch=amd64 signed-by=/keys/debian.gpg]', 'main contrib'],
    [
      'paragraph',
      [...parseOneLineSources(thirdParty), ...parseParagraphSources(paragraphs)],
      '[signed-by=/keys/debian.gpg]',
      'main',
    ],
  ])('is read from %s sources, third parties aside', (_format, mirrors, options, components) => {
    const mirror = chooseMirror(mirrors, 'bookworm')!;
    const line = `deb ${options} http://mirror.example.org/debian bookworm-backports ${components}`;
    expect(sourceLine(mirror, 'bookworm-backports')).toBe(line);
  });

  it('ignores what is disabled or for another distribution', () => {
    expect(chooseMirror(parseParagraphSources(paragraphs), 'trixie')).toBeUndefined();
    expect(parseParagraphSources(paragraphs).map(({ suite }) => suite)).toEqual(['bookworm', 'bookworm-updates']);
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function isRefusal(error: Error): boolean {
  return error.message.includes('ECONNREFUSED');
}

describe('a proxy', () => {
  it('passes on, delays, holds back, resets and abandons', async () => {
    const server = await startServer({ kind: 'redis' });
    const proxy = await startProxy(server);
    const ping = (timeoutMs?: number) => sendCommand(proxy, ['PING'], timeoutMs);
    expect(await ping()).toBe('PONG');

    proxy.delay(50);
    const start = performance.now();
    expect(await ping()).toBe('PONG');
    expect(performance.now() - start).toBeGreaterThanOrEqual(99);

    proxy.pass();
    proxy.hold('replies');
    const held = sendCommand(proxy, ['INCR', 'asked']);
    await waitUntil('the request has arrived', async () => (await server.command('GET', 'asked')) === '1');
    proxy.pass();
    expect(await held).toBe(1);

    proxy.hold();
    const lost = expect(sendCommand(proxy, ['INCR', 'asked'])).rejects.toThrow();
    await expect(ping(100)).rejects.toThrow(/no reply/);
    proxy.reset();
    await lost;
    expect(await server.command('GET', 'asked')).toBe('1');

    const silent = ping(300);
    silent.catch(() => undefined);
    await waitUntil(
      'it is connected',
      async () => String(await server.command('CLIENT', 'LIST')).split('\n').length > 2,
    );
    proxy.abandon();
    proxy.pass();
    expect(await ping()).toBe('PONG');
    await expect(silent).rejects.toThrow(/no reply/);
    await proxy.stop();
    await server.stop();
  });
});
