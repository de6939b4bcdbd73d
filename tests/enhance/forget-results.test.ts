import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { forgetResults } from '../../hub/enhance/forget-results.ts';

const exactOf = (removed: number, isPending = false) => ({
  forget: async () => removed,
  isForgetPending: () => isPending,
});
const semantic = { forget: async () => 2 };
const failing = {
  async forget(): Promise<number> {
    throw new Error('no connection');
  },
};

const unreachable =
  (...parts: readonly RegExp[]) =>
  (error: unknown) => {
    assert.ok(error instanceof HubError);
    assert.equal(error.code, 'HUB_CACHE_UNREACHABLE');
    assert.deepEqual(error.data, { retryable: true });
    for (const part of parts) assert.match(error.message, part);
    return true;
  };

describe('results are forgotten', () => {
  test('in both caches, by the same tag', async () => {
    const tags: (string | undefined)[] = [];
    const counting = async (tag?: string) => tags.push(tag);
    const removed = await forgetResults({ forget: counting }, { forget: counting }, 'editor');
    assert.deepEqual(removed, { exact: 1, semantic: 2 });
    assert.deepEqual(tags, ['editor', 'editor']);
  });

  test('in the exact cache if there is no semantic one', async () => {
    assert.deepEqual(await forgetResults(exactOf(3), undefined, undefined), {
      exact: 3,
      semantic: 0,
    });
  });
});

describe('an unreachable cache is reported, with the number that the other one removed', () => {
  test('the exact one', async () => {
    await assert.rejects(
      forgetResults(exactOf(0, true), semantic, 'editor'),
      unreachable(/no longer uses them/, /\. 2 results of similar prompts were removed/),
    );
  });

  test('the semantic one, with the cause', async () => {
    await assert.rejects(
      forgetResults(exactOf(3), failing, 'editor'),
      unreachable(/^3 results of equal prompts were removed, and none .*: no connection\. Try/),
    );
  });

  test('both', async () => {
    await assert.rejects(
      forgetResults(exactOf(0, true), failing, 'editor'),
      unreachable(/could not be removed from Redis now/, /none of similar prompts: no connection/),
    );
  });
});
