import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { entryKeys } from '#config';
import { HubError } from '#core';
import { parseInstallBody, parseTrialBody } from '../../hub/installs/install-body.ts';
import { draftOf } from '../../hub/installs/draft.ts';

/** Returns the message that refuses a body with this additional key; undefined if the body is accepted. */
function refusalOf(key: string): string | undefined {
  try {
    parseInstallBody({ package: 'docker:tool:1', [key]: null });
    return undefined;
  } catch (error) {
    return error instanceof HubError ? error.message : assert.fail(String(error));
  }
}

describe('the body of an install', () => {
  test('accepts all fields of an entry, and passes them on', () => {
    const given = {
      command: 'node',
      args: ['/srv/tool.mjs', '--read-only'],
      cwd: '/srv',
      env: { LEVEL: '1' },
      mounts: ['~/notes:/srv/notes'],
      volumes: { notes: '/data' },
      resources: { memory: '64m' },
      network: 'bridge',
      logs: 'none',
      restart: 'transient',
      max_restarts: 1,
      health_check_interval: 5,
      max_concurrent_calls: 2,
      idle_stop: 60,
      max_line: '1m',
      era: 'legacy',
    };
    const { entry } = draftOf(parseInstallBody({ package: 'docker:tool:1', ...given }));
    assert.deepEqual(entry, { package: 'docker:tool:1', ...given });
  });

  test('says for each other key of an entry which field to use', () => {
    const refused = entryKeys.flatMap(key => {
      const why = refusalOf(key);
      return why?.startsWith(`${key}: is not a field of an install`) ? [[key, why] as const] : [];
    });
    assert.deepEqual(
      refused.map(([key]) => key),
      ['disabled', 'enabled', 'image', 'type', 'url'],
    );
    for (const [key, why] of refused) assert.match(why, /: (write|an install starts)/, key);
  });

  test('shortens names, and counts the problems beyond the first 20', () => {
    const long = 'x'.repeat(100_000);
    const unknown = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`${at}${long}`, 1]));
    const tooLong = /^env\.x{56}\.\.\.: /;
    for (const [body, expected] of [
      [{ package: 'a@1.0.0', [long]: 1 }, /^x{60}\.\.\.: is not a field of an install\. /],
      [{ package: 'a@1.0.0', env: { [long]: 'a' } }, tooLong],
      [{ package: 'a@1.0.0', ...unknown }, /\nand 10 more problems$/],
    ] as const)
      assert.throws(
        () => parseInstallBody(body),
        (error: unknown) => {
          assert.ok(error instanceof HubError);
          assert.match(error.message, expected);
          assert.ok(JSON.stringify([error.message, error.data]).length < 30_000);
          return true;
        },
      );
  });

  test('names every unknown key beside other problems', () => {
    assert.throws(() => parseInstallBody({ package: 7, pakage: 'x', comand: 'y' }), {
      code: 'HUB_REQUEST_INVALID',
      message:
        /^package: write a string\npakage: is not a field .*\ncomand: is not a field .*command/,
    });
  });
});

test('the body of a trial is refused with its unknown keys, and the known ones', () => {
  assert.throws(
    () => parseTrialBody({ name: 'a', entry: {}, package: 'x', confirmed: ['y'] }),
    (error: Error) => {
      assert.ok(error instanceof HubError);
      assert.deepEqual(error.data['problems'], [
        'package: is not a field of a trial. Remove it; allowed are name, entry, confirm',
        'confirmed: is not a field of a trial. Remove it; allowed are name, entry, confirm',
      ]);
      return true;
    },
  );
});
