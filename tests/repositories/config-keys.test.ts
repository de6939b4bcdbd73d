import { expect, test } from 'vitest';
import { createConfigKeyReader } from '../../hub/repositories/config-keys.ts';
import type { Driver } from '../../hub/repositories/driver.ts';
import { signal } from './harness.ts';

/** Creates the driver of a folder with these files. Its git lists the lines of its input as keys. */
function createDriver(files: Readonly<Record<string, string>>) {
  const listed: string[] = [];
  const answerTo = ({ method, params }: Parameters<Driver['request']>[0]) => {
    if (method === 'folders') return { names: ['task'] };
    if (method === 'read') {
      const content = files[`${String(params['folder'])}/${String(params['path'])}`];
      return { content: content === undefined ? null : Buffer.from(content).toString('base64') };
    }
    const input = Buffer.from(String(params['input']), 'base64').toString();
    listed.push(input);
    return {
      code: 0,
      stdout: Buffer.from(input.replaceAll('\n', '\0')).toString('base64'),
      stderr: '',
    };
  };
  const driver: Driver = {
    ended: undefined,
    request: async (request, schema) => schema.parse(answerTo(request)),
    stop: async () => {},
  };
  return { driver, listed };
}

test('git lists the keys of a config once for each content', async () => {
  const read = createConfigKeyReader();
  const first = createDriver({ '.git/config': 'core.bare\n' });
  const same = createDriver({ '.git/config': 'core.bare\n' });
  const other = createDriver({ '.git/config': 'core.bare\nfilter.x.clean\n' });
  expect(await read('/a', first.driver, signal)).toEqual(['core.bare']);
  expect(await read('/a', first.driver, signal)).toEqual(['core.bare']);
  expect(await read('/b', same.driver, signal)).toEqual(['core.bare']);
  expect(await read('/a', other.driver, signal)).toEqual(['core.bare', 'filter.x.clean']);
  expect([first, same, other].map(({ listed }) => listed.length)).toEqual([1, 0, 1]);
});

test('configs of worktrees are read if the config says that there are some', async () => {
  const read = createConfigKeyReader();
  const own = { '.git/worktrees/task/config.worktree': 'filter.y.clean\n' };
  const without = createDriver({ ...own, '.git/config': 'core.bare\n' });
  const having = createDriver({ ...own, '.git/config': 'extensions.worktreeconfig\n' });
  expect(await read('/a', without.driver, signal)).toEqual(['core.bare']);
  expect(await read('/a', having.driver, signal)).toEqual([
    'extensions.worktreeconfig',
    'filter.y.clean',
  ]);
});

test('the results of the latest contents are cached', async () => {
  const read = createConfigKeyReader();
  const contents = Array.from({ length: 65 }, (_, at) =>
    createDriver({ '.git/config': `a.k${at}\n` }),
  );
  for (const { driver } of contents) await read('/a', driver, signal);
  for (const { driver } of [contents[64], contents[0]].flatMap(one => one ?? []))
    await read('/a', driver, signal);
  expect([contents[0]?.listed.length, contents[64]?.listed.length]).toEqual([2, 1]);
});
