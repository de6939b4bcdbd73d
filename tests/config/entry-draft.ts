import assert from 'node:assert/strict';
import { pathText } from '../../hub/config/problem.ts';
import type { EntryDraft } from '../../hub/config/sandbox.ts';
import { serverSchema } from '../../hub/config/server-schema.ts';

/** Returns the draft of an entry as written in a file, and the problems that are reported about it. */
export function draftOf(written: object, more: Partial<EntryDraft> = {}) {
  const problems: string[] = [];
  const { data: entry, error } = serverSchema.safeParse(written);
  assert.ok(entry, error?.message);
  const draft: EntryDraft = {
    name: 'one',
    form: 'servers',
    entry,
    written: new Set(Object.keys(written)),
    home: '/home/me',
    folderOf: () => '/project',
    guard: async () => undefined,
    report: (path, text) => void problems.push(`${pathText(path)}: ${text}`),
    ...more,
  };
  return { draft, problems };
}
