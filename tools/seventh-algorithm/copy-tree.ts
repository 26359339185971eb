/** A copy of the project in a temporary folder, with the packages of this one: to change it and see what happens. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface CopiedTree {
  readonly folder: string;
  /** Runs a program of the copy with Node, and gives what it printed. Throws with all of it if it fails. */
  node(...args: string[]): string;
  remove(): void;
}

export function copyTree(): CopiedTree {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-copy-'));
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    maxBuffer: 1e8,
  });
  for (const file of String(files).trim().split('\n')) {
    if (/^(bench|faults)\/|\.(png|woff2)$/.test(file)) continue;
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  linkPackages(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  symlinkSync(join(ROOT, '.cache'), join(folder, '.cache'));
  return {
    folder,
    node(...args) {
      try {
        return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', maxBuffer: 1e8, stdio: 'pipe' });
      } catch (error) {
        const { stdout, stderr } = error as { stdout: string; stderr: string };
        throw new Error(`node ${args.join(' ')}\n${stdout}\n${stderr}`);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Those of the workspace are the copy's own: their links lead up and out of node_modules. */
function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.name.startsWith('@') && entry.isDirectory()) linkPackages(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (entry.name !== '.vite' && entry.name !== '.vite-temp') symlinkSync(source, target);
  }
}
