import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

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

/** Vitest begins with the largest files. These are small and run long: at the end one worker would wait for them. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => /\/tests\/(?:fuzz|soak)\//.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter(file => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
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
