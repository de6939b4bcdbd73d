import assert from 'node:assert/strict';
import { test } from 'vitest';
import { never } from '#helpers/never';
import { createAnswers } from '../../../hub/documentation/process/answers.ts';
import { noModels } from '../harness.ts';

function open() {
  let lists = 0;
  const file = { mode: 'file', bytes: 1, hash: 'h' } as const;
  const answers = createAnswers(
    {
      repository: {
        async files() {
          lists++;
          return Array.from({ length: 1_200 }, (_, at) => ({ ...file, path: `${at}.ts` }));
        },
        readFiles: async () => [],
      },
      commit: 'c',
      vault: {
        place: '/vault',
        list: async () => [],
        read: async () => undefined,
        write: async () => {},
        remove: async () => {},
        [Symbol.asyncDispose]: async () => {},
      },
      client: 'job:1',
    },
    { models: noModels, redact: text => text, report: () => {} },
  );
  return {
    ask: async (name: string, params: object) => await answers[name]?.(params, never),
    lists: () => lists,
  };
}

test('the list of files is sent in parts, and computed once', async () => {
  const { ask, lists } = open();
  const lengths = [];
  for (const from of [0, 500, 1_000, 1_200]) {
    const page = await ask('files', { from });
    lengths.push(Array.isArray(page) ? page.length : page);
  }
  assert.deepEqual([lengths, lists()], [[500, 500, 200, 0], 1]);
});
