import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createRecordingLog } from '#helpers/recording-log';
import {
  createLimitWarning,
  findIgnoredLimits,
} from '../../../../hub/runtimes/docker/engine/limits.ts';
import { scriptEngine } from '../scripted-engine.ts';

const all = { MemoryLimit: true, CpuCfsQuota: true, PidsLimit: true };

test.each<[string, object, RegExp | undefined]>([
  ['keeps all limits', all, undefined],
  ['does not say which limits it keeps', {}, undefined],
  [
    'has no memory controller',
    { ...all, MemoryLimit: false },
    /ignores the limits "memory" of all/,
  ],
  [
    'has no cgroups',
    { MemoryLimit: false, CpuCfsQuota: false, PidsLimit: false },
    /at unix:\/\/.* ignores the limits "memory", "cpus" and "pids" of all servers/,
  ],
])('an engine that %s is recognised', async (_, body, words) => {
  await using scene = await scriptEngine({ 'GET /info': { body } });
  const found = await findIgnoredLimits(scene.engine);
  if (words) assert.match(found ?? '', words);
  else assert.equal(found, undefined);
});

test('each set of ignored limits is warned of once, however often the hub connects', async () => {
  const answers = [{ MemoryLimit: false }, { MemoryLimit: false }, {}, { PidsLimit: false }];
  await using scene = await scriptEngine({ 'GET /info': () => ({ body: answers.shift() }) });
  const { log, logged } = createRecordingLog();
  const warn = createLimitWarning({ engine: scene.engine, log });
  for (let connect = 0; connect < 4; connect++) await warn();
  assert.deepEqual(
    logged.map(({ level, message }) => [level, /limits "(\w+)"/.exec(message)?.[1]]),
    [
      ['warn', 'memory'],
      ['warn', 'pids'],
    ],
  );
});

test('an engine that does not answer is only noted', async () => {
  await using scene = await scriptEngine({ 'GET /info': { status: 403, body: { message: 'no' } } });
  const { log, logged } = createRecordingLog();
  await createLimitWarning({ engine: scene.engine, log })();
  assert.deepEqual(
    logged.map(({ level }) => level),
    ['debug'],
  );
});
