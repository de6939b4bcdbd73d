import { configDefaults, defineConfig } from 'vitest/config';

const all = 'tests/**/*.test.ts';
/** What these find out depends on the time that things take, or on the memory of the machine. */
const alone = [
  ...['breaker', 'clock', 'config', 'disk', 'redis', 'server'].map(
    name => `tests/faults/${name}.test.ts`,
  ),
  'tests/resilience/redis-faults.test.ts',
  'tests/system/idle-memory.test.ts',
];
const timeouts = { testTimeout: 30_000, hookTimeout: 300_000 };

export default defineConfig({
  test: {
    globalSetup: ['tests/helpers/global-setup.ts'],
    projects: [
      {
        test: {
          name: 'together',
          include: [all],
          exclude: [...configDefaults.exclude, ...alone],
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
          ...timeouts,
        },
      },
      {
        test: {
          name: 'one at a time',
          include: alone,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          ...timeouts,
        },
      },
    ],
  },
});
