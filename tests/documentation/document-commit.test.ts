import assert from 'node:assert/strict';
import { test } from 'vitest';
import { silent, systemClock } from '#core';
import { documentCommit } from '../../hub/documentation/document-commit.ts';
import { createShown } from '../../hub/jobs/shown.ts';

const names = (count: number, of: (number: number) => string) =>
  Array.from({ length: count }, (_, at) => of(at));

test("the result for a large project with long names is within the limit of a job's result", async () => {
  const long = 'a-folder-with-a-long-name/'.repeat(5);
  const paths = [
    ...names(60, at => `${long}${at}/main.ts`),
    ...names(60, at => `${long}${at}/.env`),
  ];
  const files = paths.map(path => ({ path, mode: 'file' as const, bytes: 20, hash: path }));
  const result = await documentCommit(
    {
      name: 'project',
      root: '/home/me/project',
      commit: '0'.repeat(40),
      limits: { maxFiles: 1_000, maxBytes: 1_000_000 },
      place: '/home/me/notes',
      isDryRun: true,
      generatedAt: '2026-01-01T00:00:00.000Z',
      isModelWanted: false,
    },
    {
      repository: {
        files: async () => files,
        readFiles: async wanted =>
          wanted.map(file => ({
            path: typeof file === 'string' ? file : file.path,
            kind: 'text' as const,
            text: 'export const a = 1;\n',
            bytes: 20,
          })),
      },
      vault: {
        list: async () => [],
        read: async () => undefined,
        write: async () => {},
        remove: async () => {},
      },
      models: {
        contextTokens: async () => undefined,
        chat: async () => assert.fail('no model is asked'),
      },
      clock: systemClock,
      pace() {},
      report() {},
    },
  );
  const redaction = { text: (text: string) => text, json: (value: unknown) => value };
  assert.deepEqual(createShown({ log: silent, redaction }).result(result), result);
  const { written, secrets_excluded: secrets } = result;
  assert.match(String(written), /and \d+ others$/);
  assert.match(String(secrets), /and \d+ others$/);
});
