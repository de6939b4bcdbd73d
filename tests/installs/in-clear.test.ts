import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findInClear } from '../../hub/installs/in-clear.ts';

describe('a secret in clear', () => {
  test.each([
    [{ env: { GITHUB_TOKEN: 'abc' } }, ['env.GITHUB_TOKEN']],
    [{ env: { GITHUB_TOKEN: '${GITHUB_TOKEN}', B: '${secret:B}' } }, []],
    [{ env: { GITHUB_TOKEN: '${GITHUB_TOKEN:-abc}' } }, ['env.GITHUB_TOKEN']],
    [{ env: { OTHER: 'ghp_0123456789abcdef' } }, ['env.OTHER']],
    [{ env: { URL: 'postgres://me:word@host/db' } }, ['env.URL']],
    [{ env: { URL: 'postgres://me:${PASSWORD}@host/db' } }, []],
    [{ env: { LOG_LEVEL: 'info', KEYBOARD: 'de' } }, []],
    [{ headers: { Authorization: 'Bearer ${TOKEN}' } }, []],
    [{ headers: { Authorization: 'Bearer abc' } }, ['headers.Authorization']],
    [{ args: ['--api-key', 'abc', '--port', '80'] }, ['args[1]']],
    [{ args: ['--api-key=abc', '--verbose'] }, ['args[0]']],
    [{ args: ['--api-key', '${KEY}'] }, []],
    [{ url: 'https://h/mcp?api_key=abc' }, ['url']],
    [{ url: 'https://h/mcp?api_key=${KEY}&x=1' }, []],
    [{ env: { PLAIN: 'abc' } }, ['env.PLAIN'], ['env.PLAIN']],
    [{ env: { PLAIN: '', TOKEN: '' } }, [], ['env.PLAIN']],
    [{ env: { PLAIN: '${A}${B:-abc}' } }, ['env.PLAIN'], ['env.PLAIN']],
    [{ env: ['TOKEN=abc'], headers: null, args: '--token abc', url: 'no url' }, []],
    [{ args: ['--api-key', '--token', 'abc'] }, ['args[2]']],
    [{ args: ['--token=abc', 'next'] }, ['args[0]']],
    [{ args: ['ghp_0123456789abcdef'] }, ['args[0]']],
    [{ url: 'https://h/mcp?token=a&api_key=b' }, ['url']],
  ])('%j', (entry, expected, known: readonly string[] = []) => {
    assert.deepEqual(findInClear(entry, new Set(known)), expected);
  });
});
