import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/test/**/*.test.ts',
      'tools/**/*.test.ts',
      'examples/**/*.test.ts',
    ],
    globalSetup: ['tools/servers/global-setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
