import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { git } from './git.ts';

const file = '../../images/git/batch.mjs';
const { createBatchReader } = await import(file);
const usual = { args: ['cat-file', '--batch'], maxBytes: 1_000, timeoutMs: 20_000 };
const { signal } = new AbortController();

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'batch-'));
  git(root, 'init', '--quiet');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Stores a text in the repository. Returns its hash. */
function store(text: string): string {
  const path = join(root, 'blob');
  writeFileSync(path, text);
  return git(root, 'hash-object', '-w', path);
}

const requestOf = (...hashes: readonly string[]) => ({
  input: Buffer.from(hashes.map(hash => `${hash}\n`).join('')).toString('base64'),
  objects: hashes.length,
});

const textOf = ({ stdout }: { readonly stdout: string }) =>
  Buffer.from(stdout, 'base64').toString();

test('one git process prints the objects of many requests, also those that are new or missing', async () => {
  const trace = join(root, 'trace');
  const params = { ...usual, env: { GIT_TRACE2: trace } };
  const reader = createBatchReader(root);
  const [a, empty, none] = [store('a\n\n'), store(''), '0'.repeat(40)];
  const both = [
    reader.print({ ...params, ...requestOf(a, none, empty) }, signal),
    reader.print({ ...params, ...requestOf(a) }, signal),
  ];
  expect((await Promise.all(both)).map(textOf)).toEqual([
    `${a} blob 3\na\n\n\n${none} missing\n${empty} blob 0\n\n`,
    `${a} blob 3\na\n\n\n`,
  ]);
  const b = store('b');
  const last = await reader.print({ ...params, ...requestOf(b) }, signal);
  expect(last).toMatchObject({ code: 0, isTruncated: false, timedOut: false });
  expect(textOf(last)).toBe(`${b} blob 1\nb\n`);
  reader.stop();
  const starts = readFileSync(trace, 'utf8').match(/ version /g);
  expect(starts).toHaveLength(1);
});

test('output beyond a limit ends git, and the next request starts another', async () => {
  const reader = createBatchReader(root);
  const params = { ...usual, env: {} };
  const [long, short] = [store('x'.repeat(2_000)), store('short')];
  const cut = await reader.print({ ...params, ...requestOf(long) }, signal);
  expect(cut.isTruncated).toBe(true);
  expect(textOf(cut)).toHaveLength(1_000);
  const late = await reader.print(
    { ...params, ...requestOf(short), objects: 2, timeoutMs: 1 },
    signal,
  );
  expect(late).toMatchObject({ code: -1, timedOut: true });
  const cancel = new AbortController();
  const cancelled = reader.print({ ...params, ...requestOf(short), objects: 2 }, cancel.signal);
  cancel.abort();
  await expect(cancelled).rejects.toThrow('aborted');
  expect(textOf(await reader.print({ ...params, ...requestOf(short) }, signal))).toContain('short');
  reader.stop();
});

test('an object that cannot be read is a failure with its reason', async () => {
  const reader = createBatchReader(join(root, 'nothing'));
  const failed = await reader.print({ ...usual, env: {}, ...requestOf('0') }, signal);
  expect(failed).toMatchObject({ code: 128, stderr: expect.stringContaining('nothing') });
});
