import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readProject } from '../../hub/documentation/read-project.ts';

test('git reads while the parser waits, 32 KB or 16 files at a time', async () => {
  const files = Array.from({ length: 40 }, (_, at) => ({
    path: `${String(at).padStart(2, '0')}.ts`,
    mode: 'file' as const,
    bytes: at < 8 ? 8 * 1_024 : 10,
    hash: 'h',
  }));
  const log: string[] = [];
  let working = 0;
  async function work<T>(what: string, result: T): Promise<T> {
    log.push(working++ > 0 ? `${what} at the same time` : what);
    await new Promise(setImmediate);
    working--;
    return result;
  }
  await readProject(
    {
      repository: {
        files: async () => files,
        readFiles: async wanted =>
          await work(
            `read ${wanted.length}`,
            wanted.map(one => ({
              path: typeof one === 'string' ? one : one.path,
              kind: 'text' as const,
              text: '',
              bytes: 0,
            })),
          ),
      },
      root: '/r',
      commit: 'c',
      name: 'n',
      limits: { maxFiles: 100, maxBytes: 1_000_000 },
    },
    {
      parser: {
        parse: async ({ length }) => await work(`parse ${length}`, { outlines: [], excluded: [] }),
      },
      pace: () => {},
      progress: () => {},
    },
  );
  const sizes = [4, 4, 16, 16];
  assert.deepEqual(
    log,
    sizes.flatMap(size => [`read ${size}`, `parse ${size}`]),
  );
});
