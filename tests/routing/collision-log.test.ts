import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createRecordingLog } from '#helpers/hub';
import { createCollisionLog } from '../../hub/routing/collision-log.ts';

const collision = (name: string) => ({
  server: 'a',
  name,
  wanted: `a_${name}`,
  publicName: `a_${name}_1`,
});

test('a collision of names is logged once, however often all of them are told', () => {
  const { log, logged } = createRecordingLog();
  const tell = createCollisionLog(log);
  const [x, y] = [collision('x'), collision('y')];
  for (const all of [[], [x], [x], [x, y], [y], [x, y]]) tell(all);
  assert.deepEqual(
    logged.map(({ level, fields }) => ({ level, fields })),
    [
      { level: 'warn', fields: { collisions: [x], count: 1 } },
      { level: 'warn', fields: { collisions: [y], count: 1 } },
    ],
  );
});

test('thousands of them are one short line', () => {
  const { log, logged } = createRecordingLog();
  const tell = createCollisionLog(log);
  const all = Array.from({ length: 10_005 }, (_, at) => collision(`t${at}`));
  tell(all);
  tell(all);
  assert.deepEqual(
    logged.map(({ fields }) => fields),
    [{ collisions: all.slice(0, 20), count: 10_000 }],
  );
});
