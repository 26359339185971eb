import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Those that take longest begin first: a long file that begins last is waited for by idle cores. */
const LONGEST = [
  'site/site',
  'seventh-algorithm/seventh-algorithm',
  'redis/parity-cluster',
  'redis/parity-single',
  'browser/lab',
  'redis/contract',
  'redis/changes-agree',
  'redis/concurrency',
  'redis/lua-versions',
  'test/laws',
  'examples/scenarios',
  'redis/keys',
  'redis/clock',
  'redis/parity-sentinel',
  'runtimes/tarball',
  'examples/frameworks',
  'gateways/gateways',
  'test/memory-store',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`${name}.test.ts`));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}

/** Each may have servers, clusters and a browser of its own: beyond that it is memory that is short. */
const MOST_WORKERS = 6;

/** How long is waited for what should be there any moment: a busy machine is no failure. */
const PATIENCE_MS = 30_000;

export default defineConfig({
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/test/**/*.test.ts',
      'tools/**/*.test.ts',
      'examples/**/*.test.ts',
    ],
    globalSetup: ['tools/servers/global-setup.ts'],
    // One more than there are cores: most files wait for servers, browsers and processes half of the time.
    maxWorkers: Math.min(availableParallelism() + 1, MOST_WORKERS),
    sequence: { sequencer: LongestFirst },
    // Where a test hangs; the longest takes ten seconds, and on a machine with ten times the work a hundred.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
